// Links of RdmaPair's pairs that are left out, since nothing gets through: which, why, and whether any is left.
#include <algorithm>
#include <set>

#include "harness/record/ranks/wire.h"
#include "workloads/network/rdma_pair.h"

namespace headrace::network {
namespace {

// Each costs a time limit. Where no message ever reached any rank in that many turns, there is no network.
constexpr std::size_t kTurnsOfNothing = 3;

}  // namespace

RdmaLink* RdmaPair::link_to(RdmaRail& rail, unsigned partner) const {
  return is_left_out({ranks_->rank(), partner}, rail.slot) ? nullptr : rail.link(partner);
}

bool RdmaPair::is_left_out(const PairSchedule::Meeting& m, unsigned slot) const {
  return !cut_.empty() && cut_.contains(std::minmax({end_of(m.from, slot), end_of(m.to, slot)}));
}

bool RdmaPair::joined(const PairSchedule::Meeting& m, unsigned slot) const {
  return has(m.from, slot) && has(m.to, slot) && !is_left_out(m, slot);
}

bool RdmaPair::joined(const PairSchedule::Meeting& m) const {
  for (unsigned slot = 0; slot < slots_; ++slot)
    if (joined(m, slot)) return true;
  return false;
}

bool RdmaPair::whole(const PairSchedule::Turn& turn) const {
  return std::none_of(turn.begin(), turn.end(), [this](const auto& m) {
    for (unsigned slot = 0; slot < slots_; ++slot)
      if (is_left_out(m, slot)) return true;
    return false;
  });
}

unsigned RdmaPair::end_of(unsigned rank, unsigned slot) const {
  return (slots_ == 1 ? 0 : slot * ranks_->size()) + static_cast<unsigned>(schedule_.end_of(rank));
}

std::string RdmaPair::describe_cut(const RdmaRail& rail, unsigned partner) const {
  try {
    std::rethrow_exception(rail.trouble);
  } catch (const LinkError& e) {
    if (peer()) throw;  // there is no other rank to measure
    return wire::Writer().put(rail.slot).put(partner).put(std::string(e.what())).bytes();
  }
}

void RdmaPair::leave_out(const std::vector<std::string>& said, const std::vector<unsigned>& reporters) {
  struct Cut {
    unsigned slot, reporter, partner;
  };
  std::vector<Cut> cuts;
  for (const unsigned reporter : reporters) {
    for (wire::Reader in(said.at(reporter)); !in.empty();) {
      const Cut cut{in.get<unsigned>(), reporter, in.get<unsigned>()};
      const auto why = in.get<std::string>();
      if (is_left_out({reporter, cut.partner}, cut.slot)) continue;  // its other end reported, too
      const auto [a, b] = std::minmax({end_of(reporter, cut.slot), end_of(cut.partner, cut.slot)});
      cut_.emplace(a, b);
      unreached_.push_back({a, b, ranks_->who(reporter) + ": " + why});
      cuts.push_back(cut);
    }
  }
  if (cuts.empty()) return;
  const auto& turns = schedule_.turns();
  const bool any_left = std::any_of(turns.begin(), turns.end(), [this](const PairSchedule::Turn& turn) {
    return std::any_of(turn.begin(), turn.end(), [this](const auto& m) { return joined(m); });
  });
  for (const auto& rail : rails_) {
    if (!any_left && rail->trouble) std::rethrow_exception(rail->trouble);  // stays for the next repetition
    rail->trouble = nullptr;
  }
  if (!any_left) throw RunError(unreached_.front().why);
  const unsigned self = ranks_->rank();
  for (const Cut& cut : cuts)
    for (const auto& rail : rails_)
      if (rail->slot == cut.slot && (cut.reporter == self || cut.partner == self))
        give_up(*rail, cut.reporter == self ? cut.partner : cut.reporter);
}

/// Others are at other steps by now: they get the error when all come together again.
void RdmaPair::give_up(RdmaRail& rail, unsigned partner) noexcept {
  try {
    if (RdmaLink* link = rail.link(partner)) link->give_up();
  } catch (...) {
    rail.trouble = std::current_exception();
  }
}

void RdmaPair::leave_out_after_turn(const std::vector<std::string>& said) {
  std::vector<unsigned> reporters;  // the sender knows more than the waiting end
  const PairSchedule::Turn& turn = schedule_.turns()[turn_];
  for (const auto& m : turn) reporters.push_back(m.from);
  for (const auto& m : turn) reporters.push_back(m.to);
  leave_out(said, reporters);
  any_got_through_ =
      any_got_through_ || std::any_of(turn.begin(), turn.end(), [this](const auto& m) { return joined(m); });
  std::set<unsigned> tried;
  for (const auto& one : unreached_) tried.insert({one.a, one.b});
  if (!any_got_through_ && turn_ + 1 >= kTurnsOfNothing && tried.size() > kTurnsOfNothing)
    throw RunError(unreached_.front().why);
}

}  // namespace headrace::network
