// Where each word of a sizing begins and ends.
#include <gtest/gtest.h>

#include "harness/analysis/sizing/parts.h"
#include "harness/job/way.h"
#include "tests/unit/sizing_runs.h"

namespace headrace::sizing::sizing_decisions_test {
namespace {

using results::StoredRun;

const std::vector<std::string> kOneNode = {"cluster.nodes=1"};  // 8 MB/s, 8 workers

Phase of(const std::vector<StoredRun>& runs, const std::vector<std::string>& set = kOneNode) {
  const auto sessions = sessions_of(runs);
  const job::Job one = job(set);
  return *phase_of(one, job::derive_needs(one), kind_of("cold_epoch"), sessions);
}

StoredRun reads(double rate, std::map<std::string, std::string> params = {}) {
  StoredRun run = run_of();
  add(run, "small_file_read", "read_bandwidth", rate, std::move(params));
  return run;
}

job::Likeness like(std::map<std::string, std::string> params, const char* workload = "small_file_read",
                   const std::vector<std::string>& set = kOneNode) {
  StoredRun run = run_of();
  add(run, workload, "read_bandwidth", 1, std::move(params));
  return job::likeness(job::way_of(job(set)), workload, "read_bandwidth", run.points[0].params);
}

TEST(SizingDecisions, APointOfAnotherSizeNeverAnswers) {
  EXPECT_TRUE(like({{"file_size", "1100000"}}).answers);
  EXPECT_FALSE(like({{"file_size", "1100001"}}).answers);
  EXPECT_TRUE(like({{"file_size", "909091"}}).answers);
  EXPECT_FALSE(like({{"file_size", "909090"}}).answers);
  EXPECT_FALSE(like({{"file_size", "0"}}).answers);
  EXPECT_TRUE(like({{"file_size", "0"}, {"path", "/data"}}).answers);  // the user's own files
  const std::vector<std::string> tokens = {"dataset.layout=tokens", "dataset.request_size=128KiB"};
  EXPECT_TRUE(like({{"block_size", "131072"}}, "random_read", tokens).answers);
  EXPECT_FALSE(like({{"block_size", "4096"}}, "random_read", tokens).answers);

  const Phase p = of({reads(80e6, {{"file_size", "131072"}})});
  EXPECT_FALSE(p.curve);
  EXPECT_EQ(p.alternatives.size(), 1u);
  StoredRun both = reads(80e6, {{"file_size", "131072"}});
  add(both, "small_file_read", "read_bandwidth", 4e6, {{"workers", "64"}});
  EXPECT_EQ(of({both}).supply.point, "small_file_read/workers:64");  // however unlike it is
}

TEST(SizingDecisions, MoreAtWorkNeverPassesAndLessNeverFails) {
  for (const auto& [workers, more, less] : {std::tuple{"6", false, true},
                                            {"7", false, false},
                                            {"8", false, false},
                                            {"10", false, false},
                                            {"11", true, false}}) {
    const job::Likeness one = like({{"workers", workers}});
    EXPECT_EQ(one.more, more) << workers;
    EXPECT_EQ(one.less, less) << workers;
    EXPECT_EQ(one.differs.empty(), !more && !less) << workers;
    const Phase fed = of({reads(80e6, {{"workers", workers}})}), starved = of({reads(0.8e6, {{"workers", workers}})});
    EXPECT_EQ(fed.outcome, more ? Outcome::inconclusive : Outcome::pass) << workers;
    EXPECT_EQ(starved.outcome, less ? Outcome::inconclusive : Outcome::fail) << workers;
    if (more) {
      EXPECT_EQ(fed.reason, Reason::other_settings);
    }
    if (less) {
      EXPECT_EQ(starved.reason, Reason::other_settings);
    }
  }
  const Phase flying = of({reads(80e6, {{"engine", "io_uring"}, {"queue_depth", "64"}})});
  EXPECT_EQ(flying.reason, Reason::other_settings);
  EXPECT_NE(flying.explanation.find("64 reads in flight"), std::string::npos) << flying.explanation;
  StoredRun neighboured = reads(80e6, {{"workers", "64"}});
  disturb(neighboured.points[0], 3);
  EXPECT_EQ(of({neighboured}).outcome, Outcome::inconclusive);
  // A job that does not say how many it has is answered by any.
  const job::Likeness any = like({{"workers", "64"}}, "memory_copy");
  EXPECT_FALSE(any.more || any.less || !any.differs.empty());
}

TEST(SizingDecisions, TheSlowerOfEquallyLikePointsAnswers) {
  StoredRun run = reads(20e6, {{"verify", "false"}});
  add(run, "small_file_read", "read_bandwidth", 9e6, {{"verify", "true"}});
  add(run, "small_file_read", "read_bandwidth", 30e6, {{"verify", "x"}});
  EXPECT_EQ(of({run}).supply.point, "small_file_read/verify:true");
  run.points[2].nodes = 2;  // the one that more nodes measured, before that
  EXPECT_EQ(of({run}, {}).supply.point, "small_file_read/verify:x");
}

TEST(SizingDecisions, SessionsLeftOutMustNotSayOtherwise) {
  std::vector<StoredRun> runs{reads(9.2e6), reads(9.2e6)};
  runs[1].started_utc = "2026-02-01T12:00:00Z";
  EXPECT_EQ(of(runs).outcome, Outcome::pass);
  runs[1] = reads(6.8e6);
  runs[1].started_utc = "2026-02-01T12:00:00Z";
  disturb(runs[1].points[0], 3);
  runs[0] = reads(9.2e6);
  EXPECT_EQ(of(runs).reason, Reason::disturbed);
  EXPECT_NEAR(of(runs).supply.value.mean, 9.2e6, 1e4);  // of what was not disturbed
  disturb(runs[1].points[0], 1);                        // not more than a third
  EXPECT_EQ(of(runs).reason, Reason::straddles);
  // What was not disturbed misses: that is a FAIL, whatever the other one gave.
  runs[0] = reads(6e6);
  disturb(runs[1].points[0], 3);
  EXPECT_EQ(of(runs).outcome, Outcome::fail);
}

TEST(SizingDecisions, ASessionOfTooFewIsLeftOutWhereOthersHaveEnough) {
  std::vector<StoredRun> runs{reads(10e6), run_of("n1", "2026-02-01T12:00:00Z")};
  add(runs[1], "small_file_read", "read_bandwidth", 5e6, {}, "cold", 4);
  EXPECT_EQ(of(runs).outcome, Outcome::pass);
  EXPECT_NEAR(of(runs).supply.value.mean, 10e6, 1);
  runs[1].points.clear();
  add(runs[1], "small_file_read", "read_bandwidth", 5e6, {}, "cold", 5);
  EXPECT_NE(of(runs).outcome, Outcome::pass);
}

TEST(SizingDecisions, UnprovenColdNeverAnswers) {
  StoredRun run = reads(80e6);
  run.points[0].cache_unproven_share = 0.01;
  EXPECT_FALSE(of({run}).curve);
  add(run, "checkpoint_write", "durable_bandwidth", 2e9, {}, "asis");
  const std::vector<StoredRun> runs{run};
  const Sizing s = size(job(kOneNode), "job.yaml", runs);
  const auto why = std::find_if(s.not_measured.begin(), s.not_measured.end(),
                                [](const NotMeasured& n) { return n.phase == "cold_epoch"; });
  ASSERT_NE(why, s.not_measured.end());
  EXPECT_EQ(why->why, "small_file_read was not proven cold in 1 % of its repetitions");
  EXPECT_EQ(s.word, Outcome::incomplete);
}

TEST(SizingDecisions, NoOtherPointAnswersForAnUnprovenColdOne) {
  StoredRun run = run_of();
  add(run, "small_file_read", "read_bandwidth", 80e6, {{"workers", "8"}});
  add(run, "small_file_read", "read_bandwidth", 80e6, {{"workers", "16"}});
  EXPECT_EQ(of({run}).used.point().params.at("workers"), "8");
  run.points[0].cache_unproven_share = 0.2;
  EXPECT_FALSE(of({run}).curve);
  run.points.erase(run.points.begin());
  EXPECT_TRUE(of({run}).curve);  // nobody measured the job's own way
}

TEST(SizingDecisions, NodesThatMeasuredSomethingElseDisturb) {
  // The second reads from 8 to 50 s, other files: six of the first's repetitions lie beside it.
  std::vector<StoredRun> runs{run_of("n1"), run_of("n2")};
  runs[1].elapsed_s = 60;
  add(runs[0], "small_file_read", "read_bandwidth", 20e6);
  add(runs[1], "small_file_read", "read_bandwidth", 20e6, {{"files", "1"}});
  const auto sessions = sessions_of(runs);
  ASSERT_EQ(sessions.size(), 1u);
  EXPECT_DOUBLE_EQ(share_beside_others(runs[0].points[0], runs[0], sessions[0]), 1);
  for (std::size_t i = 1; i < 6; ++i) runs[1].points[0].each[i].began_unix_s = 0;
  EXPECT_NEAR(share_beside_others(runs[0].points[0], runs[0], sessions[0]), 1.0 / 6, 1e-9);
  // Time that two of them take is counted once.
  add(runs[1], "small_file_read", "read_bandwidth", 20e6, {{"files", "2"}});
  for (std::size_t i = 1; i < 6; ++i) runs[1].points[1].each[i].began_unix_s = 0;
  EXPECT_NEAR(share_beside_others(runs[0].points[0], runs[0], sessions[0]), 1.0 / 6, 1e-9);
  runs[0].points[0].each[0].counted = false;
  EXPECT_EQ(share_beside_others(runs[0].points[0], runs[0], sessions[0]), 0);
  // The same node twice is no other node.
  runs[1].node = "n1";
  EXPECT_EQ(sessions_of(runs).size(), 2u);
}

TEST(SizingDecisions, AShortRepetitionWithinALongOneIsNotTogetherWithIt) {
  std::vector<StoredRun> runs{run_of("n1"), run_of("n2")};
  for (StoredRun& run : runs) add(run, "small_file_read", "read_bandwidth", 20e6);
  const results::StoredPoint* const clients[] = {&runs[0].points[0], &runs[1].points[0]};
  EXPECT_EQ(sum_together(clients, "read_bandwidth").repetitions.size(), 6u);
  for (auto& r : runs[1].points[0].each) r.ended_unix_s = r.began_unix_s + 9.9;  // 8 of 9.9 s
  EXPECT_TRUE(sum_together(clients, "read_bandwidth").repetitions.empty());
  const results::StoredPoint* const swapped[] = {&runs[1].points[0], &runs[0].points[0]};
  EXPECT_TRUE(sum_together(swapped, "read_bandwidth").repetitions.empty());
  for (auto& r : runs[1].points[0].each) r.ended_unix_s = r.began_unix_s + 8.8;
  EXPECT_EQ(sum_together(clients, "read_bandwidth").repetitions.size(), 6u);
}

Sizing with_space(double free, const char* all) {
  static std::vector<StoredRun> runs;
  runs = {run_of()};
  add(runs[0], "checkpoint_write", "durable_bandwidth", 14e9, {}, "asis");
  StoredRun& run = runs[0];
  add_values(run, "host_facts", "free_space", {free}, {}, "asis");
  run.environment["file_system.size"] = all;
  return size(job({"cluster.nodes=1", "dataset.samples=1000", "checkpoint.keep=2"}), "job.yaml", runs);
}

TEST(SizingDecisions, OnlyAFileSystemThatIsTooSmallFails) {
  // 1 GB of samples and three checkpoints of 14 GB.
  EXPECT_EQ(with_space(43e9, "43GB").capacity.outcome, Outcome::pass);
  EXPECT_EQ(with_space(43e9 - 1, "43GB").capacity.outcome, Outcome::inconclusive);
  const Sizing small = with_space(10e9, "42.9GB");
  EXPECT_EQ(small.capacity.outcome, Outcome::fail);
  EXPECT_EQ(small.word, Outcome::fail);
  EXPECT_EQ(small.limiting, "capacity");
  EXPECT_EQ(small.sentence.find("cause"), std::string::npos) << small.sentence;
  const Sizing full = with_space(10e9, "1TB");
  EXPECT_EQ(full.word, Outcome::inconclusive);
  EXPECT_EQ(full.limiting, "capacity");
  EXPECT_EQ(full.exit_code, 11);
}

TEST(SizingDecisions, ACheckpointThatFallsShortIsReportedAsThat) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "checkpoint_write", "durable_bandwidth", 0.7e9, {}, "asis");
  const Sizing s = size(job(kOneNode), "job.yaml", runs);
  EXPECT_FALSE(s.gpus_fed);
  EXPECT_FALSE(s.phases[0].gpus_fed);
  EXPECT_NE(s.sentence.find("Checkpoint save gives 700 MB/s of 1.40 GB/s"), std::string::npos) << s.sentence;
  add(runs[0], "small_file_read", "read_bandwidth", 80e6);
  const Sizing both = size(job(kOneNode), "job.yaml", runs);
  EXPECT_EQ(both.gpus_fed->mean, 8);
  EXPECT_EQ(both.limiting, "checkpoint_save");
  EXPECT_EQ(both.sentence.find("cause"), std::string::npos) << both.sentence;
}

TEST(SizingDecisions, TheTradeoffIsE18) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "checkpoint_write", "durable_bandwidth", 1.4e9, {}, "asis");
  for (const bool async : {false, true}) {
    const Sizing s =
        size(job({"cluster.nodes=1", async ? "checkpoint.mode=async" : "checkpoint.mode=sync"}), "job.yaml", runs);
    const Calendar& c = *s.calendar;
    for (const Calendar::Point& p : c.tradeoff)
      EXPECT_DOUBLE_EQ(p.lost, c.stall_s / p.interval_s + (p.interval_s / 2 + (async ? c.save_s : 0) + 300) / 36000);
  }
}

}  // namespace
}  // namespace headrace::sizing::sizing_decisions_test
