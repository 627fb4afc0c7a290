// Which nodes measure together, and what is kept of it. The agents are shells of this machine, with answers of a test's.
#include "harness/bringup/groups.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

#include "harness/base/version.h"
#include "harness/bringup/agents/protocol.h"
#include "harness/bringup/job_points.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::bringup::bringup_groups_test {
namespace {

using nlohmann::json;

/// A run's answer: one point with a rate [B/s], and a second metric that no group is compared by.
json point(const std::string& id, std::vector<double> values, const std::string& better = "higher") {
  std::ifstream file(source_dir() + "/tests/golden/run.json");
  json one = json::parse(file)["points"][0];
  one["id"] = one["workload"] = id;
  std::sort(values.begin(), values.end());
  json& metric = one["metrics"][0];
  metric["name"] = "busbw";
  metric["better"] = better;
  metric["values"] = values;
  metric["median"] = values[values.size() / 2];
  metric["low"] = values.front();
  metric["high"] = values.back();
  one["repetitions"] = json::array();
  return one;
}
json without(const std::string& id, const std::string& status, const std::string& reason) {
  json one = point(id, {1});
  one["status"] = status;
  one["reason"] = reason;
  one["metrics"] = json::array();
  return one;
}
json run_of(const std::vector<json>& points) {
  std::ifstream file(source_dir() + "/tests/golden/run.json");
  json run = json::parse(file);
  run["points"] = points;
  run["judgements"] = run["questions"] = json::array();
  for (auto& [key, count] : run["summary"].items()) count = 0;
  run["summary"]["word"] = "MEASURED";
  for (const std::string status : {"skipped", "error"})
    run["summary"][status] =
        std::count_if(points.begin(), points.end(), [&](const json& one) { return one["status"] == status; });
  if (run["summary"]["error"] > 0) run["summary"]["word"] = "ERROR", run["summary"]["exit_code"] = 1;
  return {{"run", run.dump()}};
}
json error(const std::string& why) { return {{"error", why}}; }

struct Silent : Audience {
  void started(std::size_t, std::size_t) override {}
  void looked(const Record&) override {}
  void step(const char* what, std::size_t nodes) override { steps.push_back(fmt::format("{} {}", what, nodes)); }
  void round(unsigned, std::size_t, double) override {}
  void measured(const RoundRecord&, const Record&) override {}
  std::vector<std::string> steps;
};

/// Accepted nodes "n00", "n01"..., each with an agent.
struct Cluster {
  explicit Cluster(unsigned nodes) {
    for (unsigned node = 0; node < nodes; ++node) {
      NodeRecord& one = record.nodes.emplace_back();
      one.host.name = fmt::format("n{:02}", node);
      one.state = NodeState::accepted;
      one.facts.emplace();
    }
    record.sessions.emplace_back();
    record.measuring.groups = "config of groups";
  }
  /// What `node` answers to a request: of runs to the first, the second...
  void answer(unsigned node, const std::string& what, const json& reply) {
    const unsigned number = ++answers_[{node, what}];
    folder_.write(fmt::format("{}-{}-{}", node, what, number), std::string(agents::kMark) + reply.dump() + "\n");
  }
  template <class Measure>
  void with_agents(const Measure& measure) {
    std::vector<std::string> commands;
    std::vector<unsigned> part;
    for (unsigned node = 0; node < record.nodes.size(); ++node) {
      part.push_back(node);
      commands.push_back(
          dead.contains(node)
              ? "exit 255"
              : fmt::format(
                    R"(cd {0}; echo '{1}{{"agent": {2}, "version": "{3}"}}'; runs=0; while IFS= read -r line; do
printf '%s\n' "$line" >> asked-{4}; case "$line" in *'"do":"run"'*) runs=$((runs + 1)); f={4}-run-$runs ;;
*'"do":"place"'*) f={4}-place-1 ;; *) f= ;; esac; if [ -f "$f" ]; then cat "$f"; else echo '{1}{{}}'; fi; done)",
                    folder_.path(), agents::kMark, agents::kProtocol, kVersion, node));
    }
    agents::Crowd crowd(std::move(commands), [this] {
      return !stops_at.empty() &&
             folder_.read("asked-0").find(fmt::format(R"("do":"{}")", stops_at)) != std::string::npos;
    });
    crowd.start(120, [](std::size_t) {});
    Asking ask(crowd, part);
    measure(ask);
  }
  void collectives() {
    with_agents([&](Asking& ask) { measure_groups(record, ask, audience); });
  }
  void load(const std::string& job_file = "/nowhere/job.yaml") {
    with_agents([&](Asking& ask) { measure_load(record, job_file, ask, audience); });
  }
  std::vector<json> asked(unsigned node, const std::string& what) const {
    std::vector<json> all;
    std::istringstream lines(folder_.read(fmt::format("asked-{}", node)));
    for (std::string line; std::getline(lines, line);)
      if (json one = json::parse(line); one["do"] == what) all.push_back(std::move(one));
    return all;
  }
  const std::vector<GroupRun>& groups() const { return record.sessions.back().groups; }
  std::vector<std::string> skipped() const {
    std::vector<std::string> all;
    for (const Skipped& one : record.skipped) all.push_back(one.step + ": " + one.why);
    return all;
  }

  Record record;
  Silent audience;
  std::set<unsigned> dead;
  std::string stops_at;  // once that request was sent

 private:
  testing::TemporaryFolder folder_;
  std::map<std::pair<unsigned, std::string>, unsigned> answers_;
};

using Words = std::vector<std::string>;
using Nodes = std::vector<unsigned>;

TEST(BringUpGroups, NodesThatPassedMeasureInGroupsOfSixteenAtMost) {
  Cluster of(22);
  of.record.nodes[1].state = NodeState::suspect;
  of.record.nodes[2].state = NodeState::confirmed;
  of.record.nodes[3].missing.why = "gone";
  of.record.nodes[4].state = NodeState::retested;
  of.record.nodes[5].facts.reset();  // of an agent that says nothing of MPI
  of.record.nodes[6].facts->no_mpi = "no mpirun";
  of.dead = {7};
  for (const unsigned first : {0, 14}) of.answer(first, "run", run_of({point("all_reduce", {8})}));
  of.collectives();
  // 22 without 1, 2, 3, 6 and 7: two groups of nine and eight, and the one without MPI is named.
  ASSERT_EQ(of.groups().size(), 3u);
  EXPECT_EQ(of.groups()[0].nodes, Nodes{6});
  EXPECT_EQ(of.groups()[0].why, "no mpirun");
  EXPECT_EQ(of.groups()[1].nodes, (Nodes{0, 4, 5, 8, 9, 10, 11, 12, 13}));
  EXPECT_EQ(of.groups()[2].nodes, (Nodes{14, 15, 16, 17, 18, 19, 20, 21}));
}

TEST(BringUpGroups, AGroupKeepsTheMiddleAndTheBestOfEachPoint) {
  Cluster of(4);
  of.answer(
      0, "run",
      run_of({point("all_reduce", {5, 9, 7}), point("barrier", {3, 1, 2}, "lower"), without("bcast", "error", "died"),
              without("gather", "error", "died, too"), without("sendrecv", "skipped", "needs a GPU")}));
  of.collectives();
  ASSERT_EQ(of.groups().size(), 1u);
  const GroupRun& group = of.groups()[0];
  ASSERT_EQ(group.values.size(), 2u);  // the first metric of each point alone
  EXPECT_EQ(group.values[0].point + "." + group.values[0].metric, "all_reduce.busbw");
  EXPECT_EQ(group.values[0].value, 7);
  EXPECT_EQ(group.values[0].best, 9);
  EXPECT_EQ(group.values[1].best, 1);
  EXPECT_EQ(group.why, "bcast: died; gather: died, too");
  EXPECT_EQ(of.skipped(), (Words{"collectives: sendrecv: needs a GPU",
                                 "groups compared with each other: fewer than 3 groups of one size gave results"}));
  ASSERT_EQ(of.asked(0, "run").size(), 1u);
  const json request = of.asked(0, "run")[0];
  EXPECT_EQ(request["hosts"], (json{"n00", "n01", "n02", "n03"}));
  EXPECT_EQ(request["most_s"], 180.0);
  EXPECT_TRUE(of.asked(1, "run").empty());
  EXPECT_EQ(of.audience.steps, Words{"collectives 4"});
  for (const unsigned node : {0u, 3u}) {
    ASSERT_EQ(of.asked(node, "place").size(), 1u);
    EXPECT_EQ(of.asked(node, "place")[0]["config"], "config of groups");
    ASSERT_EQ(of.asked(node, "take away").size(), 1u);
    EXPECT_EQ(of.asked(node, "take away")[0]["folder"], request["placed"]);
  }
}

TEST(BringUpGroups, AGroupSlowerThanTwoOthersMeasuresAgain) {
  for (const bool slow : {false, true}) {
    Cluster of(48);
    for (unsigned turn = 0; turn < 2; ++turn)
      for (unsigned group = 0; group < 3; ++group)
        of.answer(16 * group, "run", run_of({point("all_reduce", {group == 2 && slow ? 800.0 : 1000.0})}));
    of.collectives();
    ASSERT_EQ(of.groups().size(), slow ? 6u : 3u);
    EXPECT_FALSE(of.groups()[2].again);
    EXPECT_EQ(of.groups().back().again, slow);
    EXPECT_EQ(of.groups()[2].nodes.size(), 16u);
    EXPECT_EQ(of.asked(0, "run").size(), slow ? 2u : 1u);
    EXPECT_EQ(of.audience.steps.size(), slow ? 2u : 1u);
    EXPECT_TRUE(of.skipped().empty());
  }
}

TEST(BringUpGroups, AnEmptyAnswerIsNoFailure) {
  Cluster failed(2), empty(2), unreadable(2);
  failed.answer(0, "run", error("mpirun lost n01"));
  failed.collectives();
  ASSERT_EQ(failed.groups().size(), 1u);
  EXPECT_EQ(failed.groups()[0].nodes, (Nodes{0, 1}));
  EXPECT_EQ(failed.groups()[0].why, "mpirun lost n01");
  empty.answer(0, "run", run_of({}));
  empty.collectives();
  EXPECT_TRUE(empty.groups().empty());
  unreadable.collectives();  // {}
  ASSERT_EQ(unreadable.groups().size(), 1u);
  EXPECT_NE(unreadable.groups()[0].why, "");
}

TEST(BringUpGroups, WithoutTwoNodesTheStepIsSkipped) {
  Cluster pairs(2), one(2), no_mpi(4), unplaced(2);
  pairs.record.measuring.pairs_only = true;
  pairs.collectives();
  EXPECT_EQ(pairs.skipped(), Words{"collectives: --pairs-only"});
  one.record.nodes[1].state = NodeState::drained;
  one.collectives();
  EXPECT_EQ(one.skipped(), Words{"collectives: fewer than two nodes passed"});
  // Half of them: no node is at fault.
  for (const unsigned node : {1, 3}) no_mpi.record.nodes[node].facts->no_mpi = "no mpirun";
  no_mpi.collectives();
  EXPECT_EQ(no_mpi.skipped(), Words{"collectives: n[01,03]: no mpirun"});
  EXPECT_TRUE(no_mpi.groups().empty() && no_mpi.audience.steps.empty());
  unplaced.answer(1, "place", error("disk full"));
  unplaced.collectives();
  EXPECT_EQ(unplaced.skipped(), Words{"collectives: fewer than two nodes could take part"});
  ASSERT_EQ(unplaced.groups().size(), 1u);
  EXPECT_EQ(unplaced.groups()[0].nodes, Nodes{1});
  EXPECT_EQ(unplaced.groups()[0].why, "disk full");
  EXPECT_TRUE(unplaced.asked(0, "run").empty());
}

TEST(BringUpGroups, OneOfThreeWithoutMpiIsNamed) {
  Cluster of(3);
  of.record.nodes[1].facts->no_mpi = "no mpirun";
  of.answer(0, "run", run_of({point("all_reduce", {5})}));
  of.collectives();
  ASSERT_EQ(of.groups().size(), 2u);
  EXPECT_EQ(of.groups()[0].nodes, Nodes{1});
  EXPECT_EQ(of.groups()[1].nodes, (Nodes{0, 2}));
}

void give_job(Record& record) {
  record.measuring.job = "job of a test";
  record.measuring.at = "/data";
}
Difference no_storage(const std::string& path, bool fault = true) {
  return {0, "path " + path, "not there", "", fault};
}

TEST(BringUpGroups, TheJobsLoadIsMeasuredOnAllNodesWithItsStorage) {
  Cluster of(5);
  give_job(of.record);
  of.record.nodes[2].differences = {no_storage("/data")};
  of.record.nodes[3].differences = {no_storage("/other"), no_storage("/data", false), {3, "clock", "", "", true}};
  of.answer(4, "place", error("disk full"));
  of.answer(
      0, "run",
      run_of({point("ingest", {5}), without("save", "error", "disk full"), without("restore", "skipped", "no room")}));
  of.load();
  ASSERT_EQ(of.groups().size(), 2u);
  EXPECT_EQ(of.groups()[0].nodes, Nodes{4});
  const GroupRun& load = of.groups()[1];
  EXPECT_EQ(load.what, "storage load");
  EXPECT_EQ(load.nodes, (Nodes{0, 1, 3}));
  EXPECT_EQ(load.why, "save: disk full");  // and not that the job's file is not there
  EXPECT_TRUE(load.values.empty());
  EXPECT_EQ(of.skipped(), Words{"storage load: restore: no room"});
  ASSERT_EQ(of.asked(0, "run").size(), 1u);
  EXPECT_EQ(of.asked(0, "run")[0]["most_s"], 600.0);
  EXPECT_EQ(of.asked(0, "run")[0]["hosts"], (json{"n00", "n01", "n03"}));
  for (const unsigned node : {0u, 1u, 3u}) EXPECT_EQ(of.asked(node, "clean").size(), 1u);
  EXPECT_TRUE(of.asked(2, "clean").empty());
  Cluster no_file(2);
  give_job(no_file.record);
  no_file.answer(0, "run", run_of({point("ingest", {5})}));
  no_file.load();
  ASSERT_EQ(no_file.groups().size(), 1u);
  EXPECT_NE(no_file.groups()[0].why.find("/nowhere/job.yaml"), std::string::npos) << no_file.groups()[0].why;
}

TEST(BringUpGroups, WithoutJobOrStorageNoLoadIsMeasured) {
  const auto skipped = [](const std::string& job, const std::string& at, const auto& change) {
    Cluster of(2);
    of.record.measuring.job = job;
    of.record.measuring.at = at;
    change(of);
    of.load();
    EXPECT_TRUE(of.asked(0, "run").empty());
    return of.skipped();
  };
  const auto nothing = [](Cluster&) {};
  const Words no_job{"storage load: no job, or no folder on its storage: --job JOB --at DIR"};
  EXPECT_EQ(skipped("", "/data", nothing), no_job);
  EXPECT_EQ(skipped("job", "", nothing), no_job);
  EXPECT_EQ(skipped("job", "/data", [](Cluster& of) { of.record.measuring.pairs_only = true; }),
            Words{"storage load: --pairs-only"});
  EXPECT_EQ(skipped("job", "/data", [](Cluster& of) { of.record.nodes[1].differences = {no_storage("/data")}; }),
            Words{"storage load: fewer than two nodes passed that have the storage"});
  EXPECT_EQ(skipped("job", "/data", [](Cluster& of) { of.answer(1, "place", error("disk full")); }),
            Words{"storage load: fewer than two nodes could take part"});
  EXPECT_EQ(skipped("job", "/data", [](Cluster& of) { of.record.nodes[0].facts->no_mpi = "no mpirun"; }),
            Words{"storage load: n00: no mpirun"});
}

TEST(BringUpGroups, ANodeMeasuresItsJobOnTheCommonStorageAlone) {
  Record record = Cluster(3).record;
  record.nodes[1].differences = {no_storage("/data")};
  record.nodes[2].differences = {no_storage("/data", false), {2, "clock", "", "", true}};
  const Nodes all{0, 1, 2};
  record.measuring.at = "/data";
  EXPECT_TRUE(job_requests(record, all).empty());
  std::swap(record.measuring.at, record.measuring.job);
  EXPECT_TRUE(job_requests(record, all).empty());
  record.measuring.at = "/data";
  const auto requests = job_requests(record, all);
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests.at(0)["folder"], "headrace-n00");
  EXPECT_EQ(requests.at(2)["folder"], "headrace-n02");
  EXPECT_EQ(requests.at(0)["most_s"], kMostOfJob_s);
}

TEST(BringUpGroups, AStopKeepsNothingOfTheRun) {
  Cluster collectives(2), load(2);
  give_job(load.record);
  collectives.stops_at = load.stops_at = "run";
  collectives.collectives();
  load.load();
  for (const Cluster* of : {&collectives, &load}) {
    EXPECT_EQ(of->asked(0, "run").size(), 1u);
    EXPECT_TRUE(of->groups().empty() && of->skipped().empty());
  }
}

TEST(BringUpGroups, AStopWhileFilesArePlacedIsNoFault) {
  Cluster collectives(2);
  collectives.stops_at = "place";
  collectives.collectives();
  EXPECT_EQ(collectives.asked(0, "place").size(), 1u);
  EXPECT_TRUE(collectives.groups().empty() && collectives.skipped().empty());
}

}  // namespace
}  // namespace headrace::bringup::bringup_groups_test
