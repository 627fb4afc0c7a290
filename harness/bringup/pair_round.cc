#include "harness/bringup/pair_round.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/agents/pair_json.h"
#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/bringup/rails.h"

namespace headrace::bringup {
namespace {

constexpr double kOpen_s = 15, kConnect_s = 15, kMeet_s = 5;
constexpr double kPairPatience_s = 60;  // beyond what a pair should take: addresses that are tried
constexpr double kBetween_s = 0.5;      // of a round: connections, and words to and fro

struct Damaged : RunError {
  using RunError::RunError;
};

/// A round over one rail.
class OneRail {
 public:
  OneRail(const Record& record, Round round, unsigned rail, Asking& ask, RoundRecord& result)
      : record_(record), rail_(rail), ask_(ask), result_(result), left_(std::move(round)) {}

  void by_tcp() {
    std::map<unsigned, nlohmann::json> open, measure;
    for (const auto& [a, b] : left_) open[b] = {{"do", "open"}, {"plan", tcp_plan(b)}};
    auto doors = ask_(open, kOpen_s);
    keep([&](unsigned, unsigned b) { return why_not(b, doors[b]); });
    for (const auto& [a, b] : left_) {
      measure[b] = {{"do", "answer"}};
      measure[a] = {{"do", "call"}, {"plan", tcp_plan(a)}, {"door", doors[b].json->value("door", nlohmann::json())}};
    }
    auto ends = ask_(measure, time_s());
    take_in(ends, [&](unsigned a, unsigned b) {
      return together(a, b, agents::end_from(*ends[a].json), agents::end_from(*ends[b].json));
    });
  }

  void by_rdma() {
    std::map<unsigned, nlohmann::json> open, connect, measure;
    for (const auto& [a, b] : left_)
      for (const unsigned node : {a, b}) open[node] = {{"do", "open rdma"}, {"plan", rdma_plan(node)}};
    auto cards = ask_(open, kOpen_s);
    keep_both(cards);
    for (const auto& [a, b] : left_)
      for (const auto& [node, other] : {std::pair(a, b), std::pair(b, a)})
        connect[node] = {{"do", "connect rdma"}, {"card", cards[other].json->value("card", nlohmann::json())}};
    auto connected = ask_(connect, kConnect_s);
    keep_both(connected);
    for (const auto& [a, b] : left_) {
      measure[a] = {{"do", "measure rdma"}, {"leads", true}};
      measure[b] = {{"do", "measure rdma"}, {"leads", false}};
    }
    auto ends = ask_(measure, time_s());
    take_in(ends, [&](unsigned a, unsigned b) {
      return together(a, b, agents::rdma_end_from(*ends[a].json), agents::rdma_end_from(*ends[b].json));
    });
  }

 private:
  double time_s() const { return kMeet_s + 4 * record_.measuring.time_s + kPairPatience_s; }

  nlohmann::json tcp_plan(unsigned node) const {
    TcpPairPlan plan{record_.measuring.time_s, record_.measuring.streams, kMeet_s, ""};
    if (const auto& rails = record_.nodes[node].host.rails; rail_ < rails.size()) plan.interface = rails[rail_];
    return agents::plan_json(plan);
  }
  nlohmann::json rdma_plan(unsigned node) const {
    RdmaPairPlan plan;
    plan.port = rdma_port(record_, node, rail_);
    plan.time_s = record_.measuring.time_s;
    plan.queue_pairs = record_.measuring.streams;
    return agents::rdma_plan_json(plan);
  }

  std::string why_not(unsigned node, const Answer& answer) const {
    return answer.why.empty() ? "" : record_.nodes[node].host.name + ": " + answer.why;
  }

  /// Who cannot go on has failed.
  template <class Why>
  void keep(Why why) {
    std::erase_if(left_, [&](const auto& pair) {
      const std::string wrong = why(pair.first, pair.second);
      if (!wrong.empty()) result_.failed.push_back({pair.first, pair.second, rail_, wrong});
      return !wrong.empty();
    });
  }
  void keep_both(std::map<unsigned, Answer>& answers) {
    keep([&](unsigned a, unsigned b) {
      const std::string wrong = why_not(a, answers[a]);
      return wrong.empty() ? why_not(b, answers[b]) : wrong;
    });
  }
  template <class Together>
  void take_in(std::map<unsigned, Answer>& ends, Together together) {
    keep_both(ends);
    for (const auto& [a, b] : left_) try {
        result_.pairs.push_back(together(a, b));
      } catch (const Damaged& e) {
        result_.failed.push_back({a, b, rail_, e.what(), /*damaged=*/true});
      } catch (const std::exception& e) {
        result_.failed.push_back({a, b, rail_, e.what()});
      }
  }

  static void set_latency(PairMeasured& one, const std::optional<PairLatency>& latency) {
    if (!latency) throw RunError("no latency was measured");
    one.latency_s = latency->least_s;
    one.latency_median_s = latency->median_s;
    one.latency_p99_s = latency->p99_s;
  }
  PairMeasured together(unsigned a, unsigned b, const TcpPairEnd& of_a, const TcpPairEnd& of_b) const {
    const auto share = [](const TcpPairEnd& end) {
      const auto sent = static_cast<double>(end.segments), again = static_cast<double>(end.retransmitted);
      return sent > 0 ? std::min(1.0, again / sent) : 0;
    };
    PairMeasured one{a, b, rail_, {of_b.received, of_a.received}, {share(of_a), share(of_b)}};
    set_latency(one, of_a.latency);
    return one;
  }
  PairMeasured together(unsigned a, unsigned b, const RdmaPairEnd& of_a, const RdmaPairEnd& of_b) const {
    for (const auto& [node, end] : {std::pair(a, &of_a), std::pair(b, &of_b)})
      if (!end->damaged.empty()) throw Damaged(record_.nodes[node].host.name + ": " + end->damaged);
    PairMeasured one{a, b, rail_, {of_a.sent, of_b.sent}, {of_a.sent_again, of_b.sent_again}};
    set_latency(one, of_a.latency);
    one.errors = {of_a.own_errors, of_b.own_errors};
    return one;
  }

  const Record& record_;
  const unsigned rail_;
  Asking& ask_;
  RoundRecord& result_;
  Round left_;
};

}  // namespace

RoundRecord measure_round(const Record& record, const Round& round, const Measured& measured, Asking& ask) {
  const std::uint64_t begin_ns = now_ns();
  RoundRecord result;
  for (unsigned rail = 0; rail < rails(record) && !ask.crowd().stopped(); ++rail) {
    Round meet;
    for (const auto& [a, b] : round)
      if (has_rail(record, a, rail) && has_rail(record, b, rail) && measured(a, b, rail)) meet.emplace_back(a, b);
    if (meet.empty()) continue;
    OneRail one(record, std::move(meet), rail, ask, result);
    is_rdma(record, rail) ? one.by_rdma() : one.by_tcp();
  }
  result.took_s = seconds_since(begin_ns);
  return result;
}

double round_s(const Record& record) { return rails(record) * (3.1 * record.measuring.time_s + kBetween_s); }

}  // namespace headrace::bringup
