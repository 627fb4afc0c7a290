#include "workloads/network/rdma_pair.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "harness/backends/loader.h"
#include "harness/workload/ranks/team.h"

namespace headrace::network {

RdmaPair::RdmaPair(Params& p, std::string_view name, RdmaOp op)
    : Paired(name),
      traffic_(p, op),
      schedule_name_(
          p.choice("schedule", "all_pairs", {PairSchedule::kNames.begin(), PairSchedule::kNames.end()},
                   "of several ranks. all_pairs: each with each, all busy in every turn. ring: with the next. "
                   "bisection: the first half with the second, all at once. rails: the same port of every node")),
      most_turns_(p.count("turns", 0, {.min = 0, .max = 1e6},
                          "most partners of a rank, drawn at random from the schedule; 0: all")),
      on_gpu_(p.choice("memory", "host", {"host", "gpu"}, "that messages are in at both ends") == "gpu"),
      wanted_gpu_(wanted_gpu(p)),
      most_rails_(wanted_rails(p)),
      end_(p) {
  if (traffic_.latency && on_gpu_ && !traffic_.reads())
    p.conflict("memory", "the processor cannot see a message arrive in a GPU's memory: latency there is rdma_read's");
  if (most_rails_ != 1 && traffic_.latency) p.conflict("rails", "latency is measured by one port");
  if (most_rails_ != 1 && schedule_name_ == "rails")
    p.conflict("rails", "schedule: rails is of one process for each port");
  if (end_.managed() && traffic_.transport != RdmaTransport::reliable)
    p.conflict("connect", "rdma_cm makes connections: of transport: rc");
  share(p, RdmaEnd::kOfThisEnd);
}

RdmaPair::~RdmaPair() = default;

Footprint RdmaPair::footprint() const {
  constexpr unsigned kMostPorts = 8;  // of a node, as far as a plan can know
  const unsigned rails = most_rails_ != 0 ? most_rails_ : kMostPorts;
  const double between_s = 0.05 * rails;  // words, and data that is checked
  const double turn_s =
      (traffic_.time_s + between_s) * (traffic_.direction == RdmaTraffic::Direction::each_way ? 2 : 1);
  return {.written_bytes = 0,
          .read_bytes_per_repetition = 0,
          .memory_bytes = 2 * traffic_.slots() * traffic_.size * rails,
          .data_id = "",
          .repetition_s = most_turns_ != 0 ? static_cast<double>(most_turns_) * turn_s : 0};
}

std::optional<PairMatrix> RdmaPair::pairs() const {
  if (peer() || ranks_->rank() != 0) return std::nullopt;
  if (traffic_.latency && unreached_.empty()) return std::nullopt;  // it has no rates
  return matrix_;
}

std::string RdmaPair::why_missing(std::string_view metric) const {
  if (traffic_.latency) return "measure: latency gives no bandwidth";
  if (metric == "nic_bandwidth" && !why_no_port_.empty()) return why_no_port_;
  if (unreached_.empty()) return "";
  if (metric == "nic_bandwidth") return "no port gets through to one of another node";
  return metric == "total_bandwidth" ? "of the pairs of each turn one was left out" : "";
}

void RdmaPair::run(Worker& worker) {
  struct Leaves {  // the other ports' threads do not wait for one that throws
    RdmaPair& of;
    ~Leaves() {
      if (std::uncaught_exceptions() > 0) of.failed_ = true;
      of.together_->arrive_and_drop();
    }
  } leaves{*this};
  for (;;) {
    together_->arrive_and_wait();  // the turn has begun
    if (failed_) throw RunError("another port's thread has failed");
    if (!rails_.empty()) move(*rails_[worker.index], worker.recorder);
    if (turn_ + 1 == schedule_.turns().size()) return;
    together_->arrive_and_wait();
    if (worker.index != 0) continue;
    exchange_moved_bytes();
    ++turn_;
    begin_turn();
  }
}

void RdmaPair::conclude() {
  exchange_moved_bytes();
  in_concert(*ranks_, "check data", kSlack_s, [this] { return check_data(turn_); });
}

std::optional<Skip> RdmaPair::check_here(Node& node) {
  if (auto skip = RdmaEnd::check(node)) return skip;
  if (!on_gpu_) return std::nullopt;
  if (std::string why = node.backends().why_not(Gives::gpus); !why.empty()) return Skip{"memory: gpu: " + why};
  const unsigned count = node.backends().gpu().count();
  if (!wanted_gpu_ || *wanted_gpu_ < count) return std::nullopt;
  return Skip{"gpu: " + std::to_string(*wanted_gpu_) + ": here are " + std::to_string(count)};
}

std::optional<unsigned> RdmaPair::wanted_gpu(Params& p) {
  const std::string word =
      p.text("gpu", "nearest", "of this end, whose memory: nearest to its port by PCI, or its number");
  if (word == "nearest") return std::nullopt;
  char* end = nullptr;
  const unsigned long number = std::strtoul(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || number > 255) p.conflict("gpu", "must be nearest, or a number from 0");
  return static_cast<unsigned>(number);
}

unsigned RdmaPair::wanted_rails(Params& p) {
  const std::string word = p.text("rails", "1",
                                  "ports that each rank drives at once, a thread and `buffer` each, each with the same "
                                  "of its partner's; all: its share of its node's");
  if (word == "all") return 0;
  char* end = nullptr;
  const unsigned long number = std::strtoul(word.c_str(), &end, 10);
  if (word.empty() || *end != '\0' || number == 0 || number > 64) p.conflict("rails", "must be all, or from 1 to 64");
  return static_cast<unsigned>(number);
}

void RdmaPair::make_ready(unsigned, std::uint64_t seed) {
  seed_ = seed;
  turn_ = 0;
  met_.clear();
  sent_ = arrived_ = 0;
  together_ = std::make_unique<std::barrier<>>(static_cast<std::ptrdiff_t>(workers()));
  failed_ = false;
  if (ranks_->rank() != 0) return;
  std::vector<std::string> slots;
  for (unsigned slot = 0; slot < slots_; ++slot) slots.push_back("port " + std::to_string(slot));
  matrix_ = slots_ == 1 ? schedule_.matrix() : PairMatrix(schedule_.matrix().names, slots);
  matrix_.unreached = unreached_;
}

void RdmaPair::start(Worker& worker) {
  if (!rails_.empty()) end_.place_thread(rails_[worker.index]->way);
  if (worker.index != 0) return;
  try {
    begin_turn();
  } catch (...) {  // no rank waits in run() for one that never comes there
    failed_ = true;
    together_->arrive_and_drop();
    throw;
  }
}

void RdmaPair::report_pair(const Repetition& repetition, MetricSink& sink) const {
  if (ranks_->rank() != 0 || met_.empty() || repetition.phases.empty()) return;
  std::vector<double> values;
  for (const Met& m : met_) values.push_back(m.value);
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  const double middle = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
  if (traffic_.latency) {
    sink.put("time_s", 1e-9 * middle);
    if (n > 1) sink.put("slowest_latency_ns", values.back());
    return;
  }
  sink.put("bandwidth", middle);
  sink.put("message_rate", middle / static_cast<double>(traffic_.size));
  if (lines_.rate > 0) sink.put("line_share", middle / (traffic_.both() ? 2 : 1) / lines_.rate);
  if (sent_ > 0) sink.put("lost_share", std::max(0.0, 1 - arrived_ / sent_));
  if (n > 1) sink.put("slowest_bandwidth", values.front());
  if (why_no_port_.empty()) {
    double slowest = INFINITY;
    for (const Met& m : met_)
      if (m.between_hosts) slowest = std::min(slowest, m.one_way);
    if (std::isfinite(slowest)) sink.put("nic_bandwidth", slowest);
  }
  const auto& turns = schedule_.turns();
  std::vector<double> of_turn(turns.size(), 0);
  for (const Met& m : met_) of_turn[m.turn] += m.value;
  double least = INFINITY;
  bool several = false;
  for (std::size_t turn = 0; turn < turns.size(); ++turn) {
    several = several || turns[turn].size() > 1;
    if (whole(turns[turn])) least = std::min(least, of_turn[turn]);
  }
  if (several && std::isfinite(least)) sink.put("total_bandwidth", least);
}

void RdmaPair::take_down(Node&) { rails_.clear(); }

bool RdmaPair::meets(std::size_t turn, unsigned& partner, bool& leads) const {
  const auto* meeting = schedule_.meeting(turn, ranks_->rank());
  if (!meeting) return false;
  leads = meeting->from == ranks_->rank();
  partner = leads ? meeting->to : meeting->from;
  return true;
}

void RdmaPair::begin_turn() {
  in_concert(*ranks_, "the next pairs", wait_s(kSlack_s), [this] {
    if (const auto trouble = this->trouble()) std::rethrow_exception(trouble);
    if (turn_ > 0)
      check_data(turn_ - 1);
    else
      for (const auto& rail : rails_) rail->area->fill(key_of(ranks_->rank(), rail->slot));
    unsigned partner;
    bool leads;
    if (!meets(turn_, partner, leads)) return std::string();
    for (const auto& rail : rails_)
      if (RdmaLink* link = link_to(*rail, partner)) link->make_ready(leads);
    return std::string();
  });
}

void RdmaPair::move(RdmaRail& rail, Recorder& recorder) noexcept {
  try {
    unsigned partner;
    bool leads;
    if (!meets(turn_, partner, leads)) return;
    if (RdmaLink* link = link_to(rail, partner)) link->move(recorder);
  } catch (...) {
    rail.trouble = std::current_exception();
  }
}

std::exception_ptr RdmaPair::trouble() const {
  for (const auto& rail : rails_)
    if (rail->trouble) return rail->trouble;
  return nullptr;
}

void RdmaPair::exchange_moved_bytes() {
  const double longest_s = kSlack_s + end_.patience_s() + kOverrun * traffic_.time_s;
  unsigned partner = 0;
  bool leads;
  const bool met = meets(turn_, partner, leads);
  leave_out_after_turn(in_concert(*ranks_, "the pairs have moved", wait_s(longest_s), [&] {
    std::string cuts;
    for (const auto& rail : rails_)
      if (rail->trouble) cuts += describe_cut(*rail, partner);
    return cuts;
  }));
  std::vector<RdmaMoved> own(slots_);
  for (const auto& rail : rails_)
    if (const RdmaLink* link = met ? link_to(*rail, partner) : nullptr) own[rail->slot] = link->moved();
  const std::string words(reinterpret_cast<const char*>(own.data()), own.size() * sizeof own.front());
  const auto read = [this](const std::string& said) {
    std::vector<RdmaMoved> moved(slots_);
    if (said.size() != moved.size() * sizeof moved.front())
      throw RunError("the other end's results are of another version");
    std::memcpy(moved.data(), said.data(), said.size());
    return moved;
  };
  // With thousands of ranks each needs its partner's figures alone; the first, which reports them, needs all.
  if (met) partners_ = read(ranks_->exchange("what the pair moved", partner, words, kSlack_s));
  std::vector<std::vector<RdmaMoved>> moved;
  for (const std::string& said : ranks_->gather("what the pairs moved", ranks_->everyone(), words, kSlack_s, 0))
    moved.push_back(read(said));
  if (ranks_->rank() == 0) add_up(moved);
}

void RdmaPair::add_up(const std::vector<std::vector<RdmaMoved>>& moved) {
  const auto size = static_cast<double>(traffic_.size);
  for (const PairSchedule::Meeting& of : schedule_.turns()[turn_]) {
    const auto& [from, to] = of;
    if (traffic_.latency) {
      const double rate = joined(of) ? moved[from].front().per_s() : 0;
      if (rate > 0) met_.push_back({of, turn_, 1e9 / rate / (traffic_.reads() ? 1 : 2)});
      continue;
    }
    Met met{of, turn_, 0, INFINITY, between_hosts(of)};
    for (unsigned slot = 0; slot < slots_; ++slot) {
      if (!joined(of, slot)) continue;
      const RdmaMoved &one = moved[from][slot], &other = moved[to][slot];
      const bool counts = traffic_.counts_arrivals();
      const double there = (counts ? other.arrived_per_s() : one.per_s()) * size;
      const double back = !traffic_.both() ? 0 : (counts ? one.arrived_per_s() : other.per_s()) * size;
      met.value += there + back;
      met.one_way = std::min(met.one_way, traffic_.both() ? std::min(there, back) : there);
      const unsigned a = end_of(from, slot), b = end_of(to, slot);
      matrix_.rate[a][b] = there;
      if (traffic_.both()) matrix_.rate[b][a] = back;
      if (!counts) continue;
      sent_ += static_cast<double>(one.messages + other.messages);
      arrived_ += static_cast<double>(one.arrived + other.arrived);
    }
    if (std::isfinite(met.one_way)) met_.push_back(met);
  }
  if (matrix_.unreached.size() == unreached_.size()) return;
  // What went one way, in the turn before, counts for nothing where nothing comes the other way.
  matrix_.unreached = unreached_;
  for (const UnreachedPair& pair : unreached_) matrix_.rate[pair.a][pair.b] = matrix_.rate[pair.b][pair.a] = -1;
  std::erase_if(met_, [this](const Met& met) { return met.turn + 1 >= turn_ && !joined(met.of); });
}

std::string RdmaPair::check_data(std::size_t turn) {
  unsigned partner;
  bool leads;
  if (!meets(turn, partner, leads)) return "";
  std::vector<WrongBlock> wrong;
  for (const auto& rail : rails_)
    if (RdmaLink* link = link_to(*rail, partner))
      link->check(partners_.at(rail->slot), key_of(partner, rail->slot), wrong);
  if (!wrong.empty())
    throw RunError("wrong data on " + ranks_->host(ranks_->rank()) + ": " + wrong.front().file + " at offset " +
                   std::to_string(wrong.front().offset) + " differs from what " + ranks_->host(partner) + " sent");
  return "";
}

}  // namespace headrace::network
