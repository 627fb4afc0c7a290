#include "workloads/network/rdma_pair.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "harness/backends/loader.h"
#include "harness/ranks/all_or_none.h"

namespace headrace::network {

RdmaPair::RdmaPair(Params& p, std::string_view name, RdmaOp op)
    : Paired(name),
      traffic_(p, op),
      schedule_name_(p.choice("schedule", "all_pairs", {PairSchedule::kNames.begin(), PairSchedule::kNames.end()},
                              "of several ranks. all_pairs: each with each, all busy in every turn; ring: with the "
                              "next; bisection: the first half with the second, all at once; rails: the same port of "
                              "every node with each other's")),
      most_turns_(
          p.count("turns", 0, {.min = 0, .max = 1e6},
                  "at most so many of the schedule's, drawn at random: each rank meets as many others; 0: all")),
      on_gpu_(p.choice("memory", "host", {"host", "gpu"}, "that messages are in at both ends") == "gpu"),
      wanted_gpu_(wanted_gpu(p)),
      end_(p) {
  if (traffic_.latency && on_gpu_ && !traffic_.reads())
    p.conflict("memory", "the processor cannot see a message arrive in a GPU's memory: latency there is rdma_read's");
  share(p, RdmaEnd::kOfThisEnd);
}

RdmaPair::~RdmaPair() = default;

Footprint RdmaPair::footprint() const {
  constexpr double kBetween_s = 0.05;  // words, and data that is checked
  const double turn_s =
      (traffic_.time_s + kBetween_s) * (traffic_.direction == RdmaTraffic::Direction::each_way ? 2 : 1);
  return {.written_bytes = 0,
          .read_bytes_per_repetition = 0,
          .memory_bytes = 2 * traffic_.slots() * traffic_.size,
          .data_id = "",
          .repetition_s = most_turns_ != 0 ? static_cast<double>(most_turns_) * turn_s : 0};
}

std::optional<PairMatrix> RdmaPair::pairs() const {
  if (peer() || traffic_.latency || ranks_->rank() != 0) return std::nullopt;
  return matrix_;
}

std::string RdmaPair::why_missing(std::string_view metric) const {
  if (traffic_.latency) return "measure: latency tells no bandwidth";
  return metric == "nic_bandwidth" ? why_no_port_ : "";
}

void RdmaPair::run(Worker& worker) {
  for (;;) {
    move(worker.recorder);
    if (turn_ + 1 == schedule_.turns().size()) return;
    tell_what_moved();
    ++turn_;
    begin_turn();
  }
}

void RdmaPair::conclude() {
  tell_what_moved();
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

void RdmaPair::set_up(Node& node, Ranks& ranks, const DataProgress&) {
  ranks_ = &ranks;
  notes_.clear();
  trouble_ = nullptr;
  const std::vector<std::string> rails = in_concert(ranks, "choose ports", kConnect_s, [&] {
    GpuBackend* gpus = on_gpu_ ? &node.backends().gpu() : nullptr;
    const bool one = gpus && gpus->count() == 1;  // as launchers bind them
    end_.choose(node.backends().rdma(), ranks, peer(), one ? gpus->gpu(0).facts().pci_address : "");
    if (gpus) gpu_ = wanted_gpu_.value_or(end_.near_gpu(*gpus));
    if (traffic_.size > end_.port().most_message)
      throw Unsupported(end_.port().name() + " takes messages of at most " + std::to_string(end_.port().most_message) +
                        " bytes");
    return std::to_string(end_.rail()) + " " + end_.port().name();
  });
  std::vector<Rail> all;
  for (const std::string& words : rails)
    all.push_back({static_cast<unsigned>(std::stoul(words)), words.substr(words.find(' ') + 1)});
  // A peer's port need not be the same as this one's.
  schedule_ = PairSchedule(peer() ? "bisection" : schedule_name_, ranks, all, traffic_.direction, most_turns_,
                           traffic_.size);  // points of other sizes meet others
  if (most_turns_ != 0 && schedule_.rounds_of_all() > most_turns_ && ranks.rank() == 0)
    notes_.push_back(std::to_string(most_turns_) + " of the schedule's " + std::to_string(schedule_.rounds_of_all()) +
                     " turns, drawn at random (turns: 0 takes all)");
  why_no_port_ = why_no_port(all);
  const std::vector<unsigned> partners = schedule_.partners(ranks.rank());
  const std::vector<std::string> cards = in_concert(ranks, "connect queue pairs", kConnect_s, [&] {
    return partners.empty() ? std::string() : open(node, partners);
  });
  in_concert(ranks, "queue pairs connected", kConnect_s, [&] {
    for (RdmaLink& link : links_) connect_to(link, card_from(cards.at(link.partner())));
    return std::string();
  });
  if (partners.empty()) return;
  notes_.push_back(ranks.host(ranks.rank()) + " by " + end_.words() + "; buffers " + area_->placement());
  if (!area_->refused().empty()) notes_.push_back(area_->refused());
  notes_.insert(notes_.end(), end_.notes().begin(), end_.notes().end());
}

void RdmaPair::make_ready(unsigned, std::uint64_t seed) {
  seed_ = seed;
  turn_ = 0;
  met_.clear();
  if (ranks_->rank() == 0) matrix_ = schedule_.matrix();
}

void RdmaPair::start(Worker&) {
  end_.place_thread();
  begin_turn();
}

void RdmaPair::tell(const Repetition& repetition, MetricSink& sink) const {
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
  if (const double rate = end_.port().rate; rate > 0) sink.put("line_share", middle / (traffic_.both() ? 2 : 1) / rate);
  if (n > 1) sink.put("slowest_bandwidth", values.front());
  if (why_no_port_.empty()) {
    double slowest = INFINITY;
    for (const Met& m : met_)
      if (m.between_hosts) slowest = std::min(slowest, m.one_way);
    sink.put("nic_bandwidth", slowest);
  }
  std::vector<double> of_turn(schedule_.turns().size(), 0);
  for (const Met& m : met_) of_turn[m.turn] += m.value;
  if (n > of_turn.size()) sink.put("total_bandwidth", *std::min_element(of_turn.begin(), of_turn.end()));
}

void RdmaPair::take_down(Node&) {
  links_.clear();
  area_.reset();  // what is registered goes before the device
  endpoint_.reset();
}

std::string RdmaPair::why_no_port(const std::vector<Rail>& rails) const {
  bool leaves = false;
  for (const PairSchedule::Turn& turn : schedule_.turns()) {
    std::map<std::pair<std::string, std::string>, unsigned> busy;  // the rank at each host's port
    for (const PairSchedule::Meeting& m : turn) {
      leaves = leaves || between_hosts(m);
      for (const unsigned rank : {m.from, m.to}) {
        const auto [other, is_free] = busy.try_emplace({ranks_->host(rank), rails[rank].name}, rank);
        if (!is_free)
          return ranks_->who(other->second) + " and " + ranks_->who(rank) + " go by the same port, " +
                 rails[rank].name +
                 ", at the same time: let one process of each node take part, processes: per_node, or start one for "
                 "each port";
      }
    }
  }
  return leaves ? "" : "all ranks are on " + ranks_->host(0);
}

std::string RdmaPair::open(Node& node, const std::vector<unsigned>& partners) {
  const auto queue_pairs = static_cast<unsigned>(partners.size()) * traffic_.queue_pairs;
  area_ = std::make_unique<RdmaArea>(static_cast<std::uint32_t>(traffic_.slots()), traffic_.size, end_.huge_pages(),
                                     end_.numa_node(), on_gpu_ ? &node.backends().gpu().gpu(gpu_) : nullptr, gpu_);
  const bool inlined = !on_gpu_ && !traffic_.reads() && traffic_.size <= traffic_.inline_size;
  endpoint_ = end_.open({.queue_pairs = queue_pairs,
                         .in_use = traffic_.queue_pairs,
                         .tx_depth = traffic_.tx_depth + 1,  // and the word that ends a stream
                         .rx_depth = traffic_.sends() ? traffic_.rx_depth : 1,
                         .inline_size = inlined ? static_cast<unsigned>(traffic_.size) : 0,
                         .relaxed_ordering = !traffic_.latency});
  area_->enroll(*endpoint_);
  links_.reserve(partners.size());
  for (unsigned i = 0; i < partners.size(); ++i)
    links_.emplace_back(traffic_, *ranks_, *endpoint_, *area_, partners[i], i * traffic_.queue_pairs, inlined,
                        end_.patience_s());
  return to_bytes(RdmaCard{endpoint_->address(), area_->address(), area_->length(), area_->remote_key()});
}

void RdmaPair::connect_to(RdmaLink& link, const RdmaCard& card) {
  const std::vector<unsigned> theirs = schedule_.partners(link.partner());
  const auto at = std::find(theirs.begin(), theirs.end(), ranks_->rank()) - theirs.begin();
  link.connect(card, static_cast<unsigned>(at) * traffic_.queue_pairs);
  end_.compare_mtu(card.address.mtu, ranks_->host(link.partner()));
}

RdmaLink* RdmaPair::link(std::size_t turn) {
  const auto* meeting = schedule_.meeting(turn, ranks_->rank());
  if (!meeting) return nullptr;
  const unsigned partner = meeting->from == ranks_->rank() ? meeting->to : meeting->from;
  return &*std::find_if(links_.begin(), links_.end(), [&](const RdmaLink& l) { return l.partner() == partner; });
}

void RdmaPair::begin_turn() {
  in_concert(*ranks_, "the next pairs", wait_s(kSlack_s), [this] {
    if (trouble_) std::rethrow_exception(trouble_);  // queue pairs that have failed stay so
    if (turn_ > 0)
      check_data(turn_ - 1);
    else if (area_)
      area_->fill(key_of(ranks_->rank()));
    if (RdmaLink* link = this->link(turn_))
      link->make_ready(schedule_.meeting(turn_, ranks_->rank())->from == ranks_->rank());
    return std::string();
  });
}

void RdmaPair::move(Recorder& recorder) noexcept {
  try {
    if (RdmaLink* link = this->link(turn_)) link->move(recorder);
  } catch (...) {
    trouble_ = std::current_exception();
  }
}

void RdmaPair::tell_what_moved() {
  const double longest_s = kSlack_s + end_.patience_s() + kOverrun * traffic_.time_s;
  in_concert(*ranks_, "the pairs have moved", wait_s(longest_s), [this] {
    if (trouble_) std::rethrow_exception(trouble_);
    return std::string();
  });
  const RdmaLink* link = this->link(turn_);
  const RdmaMoved own = link ? link->moved() : RdmaMoved{};
  const std::string words(reinterpret_cast<const char*>(&own), sizeof own);
  const auto read = [](const std::string& said) {
    RdmaMoved moved;
    if (said.size() != sizeof moved) throw RunError("the other end's results are of another version");
    std::memcpy(&moved, said.data(), sizeof moved);
    return moved;
  };
  // Of thousands of ranks each needs its partner's figures alone, and the first, which tells them, all.
  if (link) partners_ = read(ranks_->exchange("what the pair moved", link->partner(), words, kSlack_s));
  std::vector<RdmaMoved> moved;
  for (const std::string& said : ranks_->gather("what the pairs moved", ranks_->everyone(), words, kSlack_s, 0))
    moved.push_back(read(said));
  if (ranks_->rank() != 0) return;
  for (const auto& [from, to] : schedule_.turns()[turn_]) {
    if (traffic_.latency) {
      const double rate = moved[from].per_s();
      if (rate > 0) met_.push_back({turn_, 1e9 / rate / (traffic_.reads() ? 1 : 2)});
      continue;
    }
    const auto size = static_cast<double>(traffic_.size);
    const double there = moved[from].per_s() * size, back = traffic_.both() ? moved[to].per_s() * size : 0;
    met_.push_back({turn_, there + back, traffic_.both() ? std::min(there, back) : there, between_hosts({from, to})});
    const std::size_t a = schedule_.end_of(from), b = schedule_.end_of(to);
    matrix_.rate[a][b] = there;
    if (traffic_.both()) matrix_.rate[b][a] = back;
  }
}

std::string RdmaPair::check_data(std::size_t turn) {
  RdmaLink* link = this->link(turn);
  if (!link) return "";
  std::vector<WrongBlock> wrong;
  link->check(partners_, key_of(link->partner()), wrong);
  if (!wrong.empty())
    throw RunError("wrong data on " + ranks_->host(ranks_->rank()) + ": " + wrong.front().file + " at offset " +
                   std::to_string(wrong.front().offset) + " differs from what " + ranks_->host(link->partner()) +
                   " sent");
  return "";
}

}  // namespace headrace::network
