#include "harness/bringup/pair_round.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/bringup/agents/pair_json.h"
#include "harness/bringup/rails.h"

namespace headrace::bringup {
namespace {

constexpr double kOpen_s = 15, kConnect_s = 15, kMeet_s = 5;
constexpr double kPairPatience_s = 60;          // beyond a pair's usual time: addresses that are tried
constexpr double kBetween_s = 0.5;              // of a round: connections, and words to and fro
constexpr std::size_t kLongestDoor = 16 << 10;  // some hundred addresses

struct Damaged : RunError {
  using RunError::RunError;
};

/// One pair of a round, and the ends' answers.
struct Meeting {
  unsigned a = 0, b = 0;
  unsigned caller = 0;
  unsigned called() const { return caller == a ? b : a; }
};

/// A round over one rail.
class OneRail {
 public:
  OneRail(const Record& record, std::vector<Meeting> left, unsigned rail, Asking& ask, RoundRecord& result)
      : record_(record), rail_(rail), ask_(ask), result_(result), left_(std::move(left)) {}

  /// Both ends open: the one that is called calls the other one back, so that both ways are tried.
  void by_tcp() {
    std::map<unsigned, nlohmann::json> open, measure;
    for (const Meeting& one : left_)
      for (const unsigned node : {one.a, one.b}) open[node] = {{"do", "open"}, {"plan", tcp_plan(node)}};
    auto doors = ask_(open, kOpen_s);
    for (auto& [node, answer] : doors) check_door(answer);
    keep_opened(doors);
    for (const Meeting& one : left_) {
      measure[one.called()] = {{"do", "answer"}, {"door", doors[one.caller].json->at("door")}};
      measure[one.caller] = {
          {"do", "call"}, {"plan", tcp_plan(one.caller)}, {"door", doors[one.called()].json->at("door")}};
    }
    auto ends = ask_(measure, time_s());
    std::map<unsigned, TcpPairEnd> read;
    for (auto& [node, answer] : ends)
      read_end(answer, [&, node = node](const auto& json) { read[node] = agents::end_from(json); });
    for (const Meeting& one : left_) {
      if (add_failure(one, ends, one.caller)) continue;
      add(one, [&] { return together(one, read[one.a], read[one.b]); });
      if (const std::string& why = read[one.called()].back; !why.empty())
        result_.failed.push_back({one.a, one.b, rail_, named(one.called(), why), false, one.called()});
    }
  }

  void by_rdma() {
    std::map<unsigned, nlohmann::json> open, connect, measure;
    for (const Meeting& one : left_)
      for (const unsigned node : {one.a, one.b}) open[node] = {{"do", "open rdma"}, {"plan", rdma_plan(node)}};
    auto cards = ask_(open, kOpen_s);
    keep_opened(cards);
    for (const Meeting& one : left_)
      for (const auto& [node, other] : {std::pair(one.a, one.b), std::pair(one.b, one.a)})
        connect[node] = {{"do", "connect rdma"}, {"card", cards[other].json->value("card", nlohmann::json())}};
    auto connected = ask_(connect, kConnect_s);
    std::erase_if(left_, [&](const Meeting& one) { return add_failure(one, connected, std::nullopt); });
    for (const Meeting& one : left_)
      for (const unsigned node : {one.a, one.b})
        measure[node] = {{"do", "measure rdma"}, {"leads", node == one.caller}};
    auto ends = ask_(measure, time_s());
    std::map<unsigned, RdmaPairEnd> read;
    for (auto& [node, answer] : ends)
      read_end(answer, [&, node = node](const auto& json) { read[node] = agents::rdma_end_from(json); });
    for (const Meeting& one : left_)
      if (!add_failure(one, ends, std::nullopt)) add(one, [&] { return together(one, read[one.a], read[one.b]); });
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

  std::string named(unsigned node, const std::string& why) const { return record_.nodes[node].host.name + ": " + why; }

  /// Its answer is passed to the partner unread, and must not make the partner fail.
  static void check_door(Answer& answer) {
    if (!answer.why.empty()) return;
    const auto door = answer.json->find("door");
    if (door == answer.json->end() || !door->is_string() ||
        door->template get_ref<const std::string&>().size() > kLongestDoor)
      answer.why = "its agent reports no address that others can call";
  }
  template <class Read>
  static void read_end(Answer& answer, Read read) {
    if (answer.why.empty()) try {
        read(*answer.json);
      } catch (const std::exception& e) {
        answer.why = std::string("its agent's answer cannot be read: ") + e.what();
        answer.own = true;
      }
  }

  void fail_by_themselves(const Meeting& one, const std::map<unsigned, Answer>& answers, std::vector<unsigned> own) {
    const unsigned first = own.front();
    result_.failed.push_back(
        {one.a, one.b, rail_, named(first, answers.at(first).why), false, std::nullopt, std::move(own)});
  }
  /// Opening concerns no other host.
  void keep_opened(const std::map<unsigned, Answer>& answers) {
    std::erase_if(left_, [&](const Meeting& one) {
      std::vector<unsigned> own;
      for (const unsigned node : {one.a, one.b})
        if (!answers.at(node).why.empty()) own.push_back(node);
      if (own.empty()) return false;
      fail_by_themselves(one, answers, std::move(own));
      return true;
    });
  }
  /// False: both ends are well. `caller`: the one that called, where one did.
  bool add_failure(const Meeting& one, const std::map<unsigned, Answer>& answers, std::optional<unsigned> caller) {
    const auto fails = [&](unsigned node) { return !answers.at(node).why.empty(); };
    if (!fails(one.a) && !fails(one.b)) return false;
    std::vector<unsigned> own;
    for (const unsigned node : {one.a, one.b})
      if (answers.at(node).own) own.push_back(node);
    // The caller gets the last bytes: if it has them all, the other end failed by itself.
    if (own.empty() && caller && !fails(*caller)) own.push_back(one.called());
    if (!own.empty()) {
      fail_by_themselves(one, answers, std::move(own));
      return true;
    }
    const unsigned reporter = caller         ? *caller
                              : fails(one.a) ? one.a
                                             : one.b,
                   other = reporter == one.a ? one.b : one.a;
    const Answer& answer = answers.at(reporter);
    std::string why = named(reporter, answer.why);
    if (answer.json && answer.json->contains("connected")) {
      caller.reset();  // data stopped, whichever end called
      if (fails(other) && answers.at(other).why != answer.why) why += "; " + named(other, answers.at(other).why);
    }
    result_.failed.push_back({one.a, one.b, rail_, std::move(why), false, caller});
    return true;
  }
  template <class Together>
  void add(const Meeting& one, Together together) {
    try {
      result_.pairs.push_back(together());
    } catch (const Damaged& e) {
      result_.failed.push_back({one.a, one.b, rail_, e.what(), /*damaged=*/true});
    } catch (const std::exception& e) {
      result_.failed.push_back({one.a, one.b, rail_, e.what()});
    }
  }

  static void set_latency(PairMeasured& one, const std::optional<PairLatency>& latency) {
    if (!latency) throw RunError("no latency was measured");
    one.latency_s = latency->least_s;
    one.latency_median_s = latency->median_s;
    one.latency_p99_s = latency->p99_s;
  }
  PairMeasured together(const Meeting& met, const TcpPairEnd& of_a, const TcpPairEnd& of_b) const {
    const auto share = [](const TcpPairEnd& end) {
      const auto sent = static_cast<double>(end.segments), again = static_cast<double>(end.retransmitted);
      return sent > 0 ? std::min(1.0, again / sent) : 0;
    };
    PairMeasured one{met.a, met.b, rail_, {of_b.received, of_a.received}, {share(of_a), share(of_b)}};
    set_latency(one, (met.caller == met.a ? of_a : of_b).latency);
    one.caller = met.caller;
    return one;
  }
  PairMeasured together(const Meeting& met, const RdmaPairEnd& of_a, const RdmaPairEnd& of_b) const {
    for (const auto& [node, end] : {std::pair(met.a, &of_a), std::pair(met.b, &of_b)})
      if (!end->damaged.empty()) throw Damaged(record_.nodes[node].host.name + ": " + end->damaged);
    PairMeasured one{met.a, met.b, rail_, {of_a.sent, of_b.sent}, {of_a.sent_again, of_b.sent_again}};
    set_latency(one, (met.caller == met.a ? of_a : of_b).latency);
    one.errors = {of_a.own_errors, of_b.own_errors};
    return one;
  }

  const Record& record_;
  const unsigned rail_;
  Asking& ask_;
  RoundRecord& result_;
  std::vector<Meeting> left_;
};

}  // namespace

RoundRecord measure_round(const Record& record, const Round& round, const Measured& measured, const Caller& caller,
                          Asking& ask) {
  const std::uint64_t begin_ns = now_ns();
  RoundRecord result;
  for (unsigned rail = 0; rail < rails(record) && !ask.crowd().stopped(); ++rail) {
    std::vector<Meeting> meet;
    for (const auto& [a, b] : round)
      if (has_rail(record, a, rail) && has_rail(record, b, rail) && measured(a, b, rail))
        meet.push_back({a, b, caller(a, b, rail)});
    if (meet.empty()) continue;
    OneRail one(record, std::move(meet), rail, ask, result);
    is_rdma(record, rail) ? one.by_rdma() : one.by_tcp();
  }
  result.took_s = seconds_since(begin_ns);
  return result;
}

double round_s(const Record& record) { return rails(record) * (3.1 * record.measuring.time_s + kBetween_s); }

}  // namespace headrace::bringup
