// Which ports the ends of RdmaPair's pairs have, and how they are connected.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"
#include "harness/record/ranks/wire.h"
#include "harness/workload/ranks/team.h"
#include "workloads/network/binding.h"
#include "workloads/network/rdma_pair.h"

namespace headrace::network {

void RdmaPair::set_up(Node& node, Ranks& ranks, const DataProgress&) {
  ranks_ = &ranks;
  notes_.clear();
  rails_.clear();
  unreached_.clear();
  cut_.clear();
  any_got_through_ = false;
  const std::vector<std::string> said = in_concert(ranks, "choose ports", kConnect_s, [&] {
    choose_ports(on_gpu_ ? &node.backends().gpu() : nullptr, node.backends().rdma());
    std::vector<const RdmaPort*> own_ports;
    for (std::size_t way = 0; way < end_.ways(); ++way) own_ports.push_back(&end_.port(way));
    lines_ = lines_of(own_ports);
    std::string own;
    for (const auto& rail : rails_)
      own += fmt::format("{} {} {} {}\n", rail->slot, end_.rail(rail->way), end_.port(rail->way).name(),
                         lines_.ports[rail->way].paths);
    return own;
  });
  ports_.clear();
  slots_ = 1;
  std::vector<Rail> first;
  unsigned paths = 1;
  for (const std::string& words : said) {
    std::istringstream lines(words);
    Ports own;
    unsigned of_port = 1;
    for (Rail rail; lines >> rail.slot >> rail.number >> rail.name >> of_port;) {
      own.push_back(rail);
      paths = std::max(paths, of_port);
      slots_ = std::max(slots_, rail.slot + 1);
    }
    first.push_back(own.at(0));
    if (most_rails_ != 1) first.back().name.clear();  // ranks of a node are distinguished by their numbers
    ports_.push_back(std::move(own));
  }
  const unsigned asked = traffic_.queue_pairs;
  traffic_.use_all(paths);
  if (traffic_.queue_pairs != asked && ranks.rank() == 0)
    notes_.push_back(
        fmt::format("{} queue pairs of a pair, as ports have {} legs or planes", traffic_.queue_pairs, paths));
  // A peer's port need not be the same as this one's.
  schedule_ = PairSchedule(peer() ? "bisection" : schedule_name_, ranks, first, traffic_.direction, most_turns_,
                           traffic_.size);  // points of other sizes meet others
  if (most_turns_ != 0 && schedule_.rounds_of_all() > most_turns_ && ranks.rank() == 0)
    notes_.push_back(std::to_string(most_turns_) + " of the schedule's " + std::to_string(schedule_.rounds_of_all()) +
                     " turns, drawn at random (turns: 0 takes all)");
  why_no_port_ = why_no_port();
  std::erase_if(rails_, [&](const auto& rail) { return partners(ranks.rank(), rail->slot).empty(); });
  const std::vector<std::string> cards = in_concert(ranks, "connect queue pairs", kConnect_s, [&] {
    wire::Writer own;
    for (unsigned slot = 0; slot < slots_; ++slot) {
      const auto rail = std::find_if(rails_.begin(), rails_.end(), [&](const auto& r) { return r->slot == slot; });
      own.put(rail == rails_.end() ? std::string() : open(node, **rail));
    }
    return own.bytes();
  });
  connect_all(cards);
  note_ways();
}

/// Where the kernel's manager connects, one end requests and waits until the other answers. It goes pair by pair, so
/// that an unanswered one delays no third.
void RdmaPair::connect_all(const std::vector<std::string>& cards) {
  if (!end_.managed()) return connect_some(cards, [](const RdmaRail&, const RdmaLink&) { return true; });
  std::set<const RdmaLink*> tried;
  for (std::size_t turn = 0; turn < schedule_.turns().size(); ++turn)
    for (unsigned slot = 0; slot < slots_; ++slot)
      connect_some(cards, [&](const RdmaRail& rail, const RdmaLink& link) {
        unsigned partner;
        bool leads;
        return rail.slot == slot && meets(turn, partner, leads) && partner == link.partner() &&
               tried.insert(&link).second;
      });
}

template <class Wanted>
void RdmaPair::connect_some(const std::vector<std::string>& cards, const Wanted& wanted) {
  const auto said = in_concert(*ranks_, "queue pairs connected", kConnect_s + kResolve_s * ranks_->size(), [&] {
    std::string cuts;
    for (const auto& rail : rails_) {
      for (RdmaLink& link : rail->links) {
        if (!wanted(*rail, link)) continue;
        try {
          connect_to(*rail, link, cards.at(link.partner()));
        } catch (const LinkError&) {
          rail->trouble = std::current_exception();
          cuts += describe_cut(*rail, link.partner());
        }
      }
    }
    return cuts;
  });
  leave_out(said, ranks_->everyone());
}

void RdmaPair::choose_ports(GpuBackend* gpus, RdmaBackend& rdma) {
  const bool one = gpus && gpus->count() == 1;  // as launchers bind them
  if (most_rails_ == 1)
    end_.choose(rdma, *ranks_, peer(), one ? gpus->gpu(0).facts().pci_address : "");
  else
    end_.choose_several(rdma, *ranks_, peer(), most_rails_);
  for (std::size_t way = 0; way < end_.ways(); ++way) {
    check_size(end_.port(way));
    auto rail = std::make_unique<RdmaRail>();
    rail->way = way;
    rail->slot = end_.slot(way);
    if (gpus) rail->gpu = wanted_gpu_.value_or(end_.near_gpu(*gpus, way));
    rails_.push_back(std::move(rail));
  }
}

void RdmaPair::check_size(const RdmaPort& port) const {
  const std::uint64_t most = traffic_.datagrams() ? port.mtu : port.most_message;
  if (traffic_.size > most)
    throw Unsupported(fmt::format("{} takes {} of at most {} bytes", port.name(),
                                  traffic_.datagrams() ? "datagrams" : "messages", most));
}

void RdmaPair::note_ways() {
  const Ranks& ranks = *ranks_;
  if (rails_.empty()) return;
  if (const std::string bound = bound_too_tightly(static_cast<unsigned>(rails_.size())); !bound.empty())
    notes_.push_back(ranks.host(ranks.rank()) + ": " + bound);
  for (const auto& rail : rails_) {
    notes_.push_back(ranks.host(ranks.rank()) + " by " + end_.words(rail->way) + "; buffers " +
                     rail->area->placement());
    if (!rail->area->refused().empty()) notes_.push_back(rail->area->refused());
  }
  notes_.insert(notes_.end(), end_.notes().begin(), end_.notes().end());
  if (ranks.rank() != 0) return;
  for (unsigned slot = 0; slot < slots_; ++slot) {
    std::vector<std::string> without;
    for (unsigned rank = 0; rank < ranks.size(); ++rank)
      if (!has(rank, slot)) without.push_back(ranks.who(rank));
    if (!without.empty())
      notes_.push_back(fmt::format("without port {} of those that others drive: {}", slot, join(without)));
  }
}

bool RdmaPair::has(unsigned rank, unsigned slot) const {
  return std::any_of(ports_[rank].begin(), ports_[rank].end(), [&](const Rail& r) { return r.slot == slot; });
}

std::vector<unsigned> RdmaPair::partners(unsigned rank, unsigned slot) const {
  std::vector<unsigned> all = schedule_.partners(rank);
  std::erase_if(all, [&](unsigned other) { return !has(rank, slot) || !has(other, slot); });
  return all;
}

std::string RdmaPair::why_no_port() const {
  bool leaves = false;
  for (const PairSchedule::Turn& turn : schedule_.turns()) {
    std::map<std::pair<std::string, std::string>, unsigned> busy;  // the rank at each host's port
    for (const PairSchedule::Meeting& m : turn) {
      leaves = leaves || between_hosts(m);
      for (const unsigned rank : {m.from, m.to}) {
        for (const Rail& port : ports_[rank]) {
          const auto [other, is_free] = busy.try_emplace({ranks_->host(rank), port.name}, rank);
          if (!is_free)
            return ranks_->who(other->second) + " and " + ranks_->who(rank) + " go by the same port, " + port.name +
                   ", at the same time: let one process of each node take part, processes: per_node, or start one for "
                   "each port";
        }
      }
    }
  }
  return leaves ? "" : "all ranks are on " + ranks_->host(0);
}

std::string RdmaPair::open(Node& node, RdmaRail& rail) {
  const std::vector<unsigned> partners = this->partners(ranks_->rank(), rail.slot);
  const auto queue_pairs = static_cast<unsigned>(partners.size()) * traffic_.queue_pairs;
  rail.area = std::make_unique<RdmaArea>(static_cast<std::uint32_t>(traffic_.slots()), traffic_.size, end_.huge_pages(),
                                         end_.numa_node(rail.way),
                                         on_gpu_ ? &node.backends().gpu().gpu(rail.gpu) : nullptr, rail.gpu);
  const bool inlined = !on_gpu_ && !traffic_.reads() && traffic_.size <= traffic_.inline_size;
  constexpr unsigned kWords = 2;  // in addition to the messages: words that end a stream, or answer
  rail.endpoint = end_.open({.transport = traffic_.transport,
                             .queue_pairs = queue_pairs,
                             .in_use = traffic_.queue_pairs,
                             .tx_depth = traffic_.tx_depth + kWords,
                             .rx_depth = traffic_.sends() ? traffic_.rx_depth : 1,
                             .inline_size = inlined ? static_cast<unsigned>(traffic_.size) : 0,
                             .relaxed_ordering = !traffic_.latency},
                            rail.way);
  rail.area->enroll(*rail.endpoint);
  rail.links.reserve(partners.size());
  for (unsigned i = 0; i < partners.size(); ++i)
    rail.links.emplace_back(traffic_, *ranks_, *rail.endpoint, *rail.area, partners[i], i * traffic_.queue_pairs,
                            inlined, end_.patience_s());
  return to_bytes(
      RdmaCard{rail.endpoint->address(), rail.area->address(), rail.area->length(), rail.area->remote_key()});
}

void RdmaPair::connect_to(RdmaRail& rail, RdmaLink& link, const std::string& cards) {
  wire::Reader all(cards);
  std::string own;
  for (unsigned slot = 0; slot <= rail.slot; ++slot) all.get(own);
  const RdmaCard card = card_from(own);
  const std::vector<unsigned> theirs = partners(link.partner(), rail.slot);
  const auto at = std::find(theirs.begin(), theirs.end(), ranks_->rank()) - theirs.begin();
  link.connect(card, static_cast<unsigned>(at) * traffic_.queue_pairs);
  end_.compare_mtu(card.address.mtu, ranks_->host(link.partner()), rail.way);
}

}  // namespace headrace::network
