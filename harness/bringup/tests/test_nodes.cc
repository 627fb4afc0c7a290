#include "harness/bringup/tests/test_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/deadline.h"
#include "harness/base/utc.h"
#include "harness/bringup/agents/own_run.h"
#include "harness/bringup/blame/judge.h"
#include "harness/bringup/job_points.h"
#include "harness/bringup/tests/judge_tests.h"
#include "harness/judge/statistics/robust.h"

namespace headrace::bringup {
namespace {

constexpr double kMost_s = 180;  // of the configuration
constexpr double kTestPatience_s = 30;
constexpr const char* kLooksAlone = "5";

class Testing {
 public:
  Testing(Record& record, const std::vector<unsigned>& nodes, Asking& ask)
      : record_(record), nodes_(nodes), ask_(ask) {}

  void measure() {
    tests_ = {};
    tests_.started_utc = utc_text(wall_clock_s());
    const std::uint64_t begin_ns = now_ns();
    if (!record_.measuring.node_tests.empty()) {
      agents::RunWanted wanted;
      wanted.config = record_.measuring.node_tests;
      wanted.job = record_.measuring.job;
      wanted.most_s = kMost_s;
      // Fewer than needed to show the usual rate are each judged alone, for which three repetitions are too few.
      if (record_.nodes.size() - record_.missing() < statistics::kFewestAlike) wanted.looks = kLooksAlone;
      std::map<unsigned, nlohmann::json> requests;
      for (const unsigned node : nodes_) requests[node] = agents::run_json(wanted);
      take_in(std::move(requests), kMost_s);
    }
    take_in(job_requests(record_, nodes_), kMostOfJob_s);
    tests_.took_s = seconds_since(begin_ns);
    if (!ask_.crowd().stopped()) record_.sessions.back().tests.push_back(std::move(tests_));
  }

 private:
  void take_in(std::map<unsigned, nlohmann::json> requests, double most_s) {
    for (auto& request : requests) request.second["do"] = "run";
    for (const auto& [node, answer] : ask_(requests, most_s + kTestPatience_s)) {
      std::string why = answer.why;
      if (why.empty()) try {
          add_run(tests_, node, results::parse_run(answer.json->at("run").get<std::string>(), "its run"));
          continue;
        } catch (const std::exception& e) {
          why = e.what();
        }
      add_failure(tests_, node, why);
    }
  }

  Record& record_;
  const std::vector<unsigned>& nodes_;
  Asking& ask_;
  NodeTests tests_;
};

}  // namespace

void test_nodes(Record& record, const std::vector<unsigned>& nodes, Asking& ask, Audience& audience) {
  if (nodes.empty()) return;
  Testing testing(record, nodes, ask);
  for (const char* what : {"node tests", "node tests again, as a node is suspected"}) {
    audience.step(what, nodes.size());
    testing.measure();
    const TestsJudged judged = judge_tests(record);
    if (judged.suspects.empty() || ask.crowd().stopped()) {
      if (!judged.unjudged.empty()) record.skipped.push_back({"node tests", judged.unjudged});
      return;
    }
  }
}

std::vector<unsigned> untested(const Record& record, const std::vector<unsigned>& part) {
  const Replay replay(record);
  std::set<unsigned> tested;
  for (std::size_t s = 0; s < record.sessions.size(); ++s)
    for (const NodeTests& tests : record.sessions[s].tests)
      for (const TestedNode& one : tests.nodes)
        if (replay.counts(s, one.node) && !one.without.contains("")) tested.insert(one.node);
  std::vector<unsigned> left;
  for (const unsigned node : part)
    if (!tested.contains(node)) left.push_back(node);
  return left;
}

void remove_data(const Record& record, Asking& ask) {
  constexpr double kMostOfRemoving_s = 150;
  std::vector<unsigned> nodes;
  for (const unsigned node : ask.part())
    if (ask.crowd().there(ask.member(node))) nodes.push_back(node);
  auto requests = job_requests(record, nodes);
  for (auto& request : requests) request.second["do"] = "clean";
  ask(requests, kMostOfRemoving_s);
}

}  // namespace headrace::bringup
