// Supply against demand: known numbers, intervals, many clients, what is extrapolated, and fixes.
#include "harness/analysis/sizing/sizing.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/analysis/sizing/parts.h"
#include "harness/judge/statistics/summary.h"
#include "harness/results/json_text.h"
#include "tests/unit/sizing_runs.h"
#include "tests/unit/source_dir.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::sizing::sizing_test {
namespace {

using results::StoredPoint;
using results::StoredRun;

const Phase& phase(const Sizing& s, std::string_view name) {
  for (const Phase& p : s.phases)
    if (p.phase == name) return p;
  throw std::runtime_error("no phase " + std::string(name));
}

const Fix* fix(const Sizing& s, std::string_view name) {
  for (const Fix& f : s.fixes)
    if (f.fix == name) return &f;
  return nullptr;
}

TEST(Sizing, GpusFedAreG8OfTheSupply) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 6.05e6, {{"workers", "8"}});
  // One node of four, which feeds 6 of its 8 GPUs: with more nodes each gets no more.
  const Sizing s = size(job(), "job.yaml", runs);
  const Phase& p = phase(s, "cold_epoch");
  EXPECT_DOUBLE_EQ(p.demand.required, 32e6);
  EXPECT_DOUBLE_EQ(p.need_here(), 8e6);
  EXPECT_EQ(p.nodes, 1);
  EXPECT_EQ(p.gpus, 8);
  EXPECT_EQ(p.gpus_fed->mean, 6);
  EXPECT_LE(p.gpus_fed->low, 6);
  EXPECT_GE(p.gpus_fed->high, 6);
  EXPECT_EQ(p.supply.basis, Basis::measured);
  EXPECT_EQ(p.outcome, Outcome::fail);
  EXPECT_FALSE(s.gpus_fed);
  EXPECT_EQ(s.exit_code, 10);
  EXPECT_EQ(s.limiting, "cold_epoch");
  EXPECT_EQ(s.sentence.find("Measured on 1 of 4 nodes: not enough for that node (8 GPUs, x0.76)."), 0u) << s.sentence;
  EXPECT_NEAR(s.starvation->utilization, 24.2 / 32, 1e-3);
  EXPECT_NEAR(*s.starvation->cost_usd_per_h, 32 * 2 * (1 - 24.2 / 32), 0.1);
}

/// 32 GPUs ask for 4 batches of 1 MB each at 24.2 MB/s before the first of 31 steps.
TEST(Sizing, TheWallClockHasTheFillOfThePipeline) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 6.05e6, {{"workers", "32"}});
  const Sizing s = size(job({"loader.workers_per_gpu=4"}), "job.yaml", runs);
  ASSERT_TRUE(s.starvation && s.starvation->wall_clock);
  const double busy = s.starvation->utilization, fill = 32 * 4 / (32 * busy);
  EXPECT_EQ(s.starvation->wall_clock->steps, 31);
  EXPECT_NEAR(s.starvation->wall_clock->fill_s, fill, 1e-9);
  EXPECT_NEAR(s.starvation->wall_clock->utilization, 31 / (fill + 1 + 30 / busy), 1e-9);
  EXPECT_LT(s.starvation->wall_clock->utilization, busy - 0.06);
  EXPECT_NE(sizing_json(s).find("wall_clock_utilization"), std::string::npos);
}

TEST(Sizing, WithoutANumberOfSamplesNoWallClockIsReported) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 6.05e6, {{"workers", "8"}});
  job::Job unknown = job();
  unknown.dataset.samples.reset();
  const Sizing s = size(unknown, "job.yaml", runs);
  ASSERT_TRUE(s.starvation);
  EXPECT_FALSE(s.starvation->wall_clock);
}

/// Local storage is each node's own: it says nothing of the storage that the job's nodes share.
TEST(Sizing, ALocalDiskNeitherFeedsNorStarvesOtherNodes) {
  for (const auto& [rate, enough] :
       {std::pair{43e6, "enough for that node (8 GPUs, x5.4)"}, {6e6, "not enough for that node (8 GPUs, x0.75)"}}) {
    std::vector<StoredRun> runs{run_of()};
    add(runs[0], "small_file_read", "read_bandwidth", rate);
    add(runs[0], "checkpoint_write", "durable_bandwidth", 10e9, {}, "asis");
    runs[0].environment = {{"file_system.type", "ext4"}, {"device.disk", "vda"}};
    const Sizing s = size(job({"cluster.nodes=64"}), "job.yaml", runs);
    const Phase& p = phase(s, "cold_epoch");
    EXPECT_TRUE(p.local);
    EXPECT_EQ(p.outcome, Outcome::inconclusive);
    EXPECT_EQ(p.reason, Reason::extrapolated);
    EXPECT_FALSE(s.gpus_fed);
    EXPECT_FALSE(s.calendar);
    EXPECT_EQ(s.exit_code, 11);
    EXPECT_EQ(s.measured_nodes, 1);
    EXPECT_EQ(fix(s, "storage"), nullptr);
    EXPECT_NE(s.sentence.find(std::string("Measured on 1 of 64 nodes, on local storage: ") + enough), std::string::npos)
        << s.sentence;
    EXPECT_NE(s.sentence.find("Each node with such storage of its own gets as much. "
                              "Whether the shared storage feeds 64 nodes was not measured."),
              std::string::npos)
        << s.sentence;
    EXPECT_EQ(s.sentence.find("expected"), std::string::npos) << s.sentence;
    for (const Scaling& one : s.scaling) {
      EXPECT_LT(one.supply.size(), one.gpus.size());
      EXPECT_EQ(one.gpus[one.supply.size() - 1], 8);
      EXPECT_EQ(one.supply.size(), one.extrapolated.size());
      EXPECT_EQ(one.demand.size(), one.gpus.size());
    }
    for (const Fix& f : s.fixes) EXPECT_FALSE(f.gpus_fed) << f.title;
  }
}

TEST(Sizing, TheBestBoundIsStorage) {
  const auto local = [](std::map<std::string, std::string> facts, std::map<std::string, std::string> params = {}) {
    StoredRun run = run_of();
    add(run, "small_file_read", "read_bandwidth", 20e6, std::move(params));
    run.environment = std::move(facts);
    const std::vector<StoredRun> runs{run};
    const auto sessions = sessions_of(runs);
    return is_local(measurements(sessions, std::vector<std::string>{"small_file_read.read_bandwidth"}, "").front());
  };
  for (const char* type : {"ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs"})
    EXPECT_TRUE(local({{"file_system.type", type}})) << type;
  for (const char* type : {"nfs4", "lustre", "ceph", "gpfs", "fuse.juicefs", "gfs2", "ocfs2", "squashfs", ""})
    EXPECT_FALSE(local({{"file_system.type", type}})) << type;
  EXPECT_FALSE(local({{"file_system.type", "xfs"}, {"device.disk", "rbd0"}}));
  EXPECT_FALSE(local({}));
  // The user's data may be elsewhere than the scratch folder.
  EXPECT_FALSE(local({{"file_system.type", "ext4"}}, {{"path", "/data"}}));
  EXPECT_FALSE(local({{"file_system.type", "ext4"}, {"data_file_system.type", "lustre"}}, {{"path", "/data"}}));
  EXPECT_TRUE(local({{"file_system.type", "lustre"}, {"data_file_system.type", "ext4"}}, {{"path", "/data"}}));
  EXPECT_FALSE(local({{"file_system.type", "ext4"}}, {{"engine", "s3"}}));
}

TEST(Sizing, FilesDoNotAnswerForObjectsNorObjectsForFiles) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 80e6, {{"engine", "posix"}});
  add(runs[0], "checkpoint_write", "durable_bandwidth", 1e9, {}, "asis");
  const auto why = [&](const char* path) {
    const Sizing s = size(job({"cluster.nodes=1", std::string("dataset.path=") + path}), "job.yaml", runs);
    for (const NotMeasured& n : s.not_measured)
      if (n.phase == "cold_epoch") return n.why;
    return std::string();
  };
  EXPECT_EQ(why("/data"), "");
  EXPECT_NE(why("s3://bucket/set").find("the job reads objects of a store"), std::string::npos);
  runs[0].points[0].params["engine"] = runs[0].points[0].params["path"] = "";
  runs[0].points[0].params["path"] = "s3://bucket/set";
  EXPECT_EQ(why("s3://bucket/set"), "");
  EXPECT_NE(why("/data").find("the job reads files"), std::string::npos);
}

TEST(Sizing, OneRepetitionIsNoSupply) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 80e6, {}, "cold", 1);
  add(runs[0], "checkpoint_write", "durable_bandwidth", 1e9, {}, "asis");
  const Sizing s = size(job({"cluster.nodes=1"}), "job.yaml", runs);
  EXPECT_FALSE(s.gpus_fed);
  const auto cold = std::ranges::find(s.not_measured, "cold_epoch", &NotMeasured::phase);
  ASSERT_NE(cold, s.not_measured.end());
  EXPECT_EQ(cold->why, "small_file_read has one repetition: too few for a range");
}

TEST(Sizing, ZeroInTimeIsNoRate) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 30e6, {}, "cold", 10);
  put(runs[0].points[0], 4, 0);
  runs[0].points[0].each[4].operations = 0;
  const Phase p = size(job({"cluster.nodes=1"}), "job.yaml", runs).phases[0];
  EXPECT_NEAR(p.supply.value.mean, 30e6, 0.5e6);
  EXPECT_NE(p.outcome, Outcome::fail);
}

TEST(Sizing, ExtrapolationNeverPasses) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 20e6);
  const Sizing s = size(job(), "job.yaml", runs);
  EXPECT_EQ(phase(s, "cold_epoch").outcome, Outcome::inconclusive);
  EXPECT_EQ(phase(s, "cold_epoch").reason, Reason::extrapolated);
  EXPECT_EQ(size(job({"cluster.nodes=1"}), "job.yaml", runs).phases[0].outcome, Outcome::pass);
}

TEST(Sizing, DisturbedRunsAreJudgedAsByAVerdict) {
  std::vector<StoredRun> runs{run_of()};  // 8 MB/s needed
  add(runs[0], "small_file_read", "read_bandwidth", 20e6);
  StoredPoint& point = runs[0].points[0];
  disturb(point, 3);
  const auto first = [&runs](const std::vector<std::string>& set) {
    std::vector<std::string> all{"cluster.nodes=1"};
    all.insert(all.end(), set.begin(), set.end());
    return size(job(all), "job.yaml", runs).phases[0];
  };
  EXPECT_EQ(first({}).outcome, Outcome::pass);
  EXPECT_NE(first({}).explanation.find("Something else ran"), std::string::npos);
  unsettle(point, 3);
  EXPECT_EQ(first({}).reason, Reason::not_steady);
  EXPECT_EQ(size(job({"cluster.nodes=1"}), "job.yaml", runs).exit_code, 11);
  unsettle(point, 0);
  // It misses: a neighbour may have slowed half of it, and the other half is too few for a bound.
  EXPECT_EQ(first({"step.time=0.1s"}).reason, Reason::disturbed);
  disturb(point, 0);
  EXPECT_EQ(first({"step.time=0.1s"}).outcome, Outcome::fail);
}

TEST(Sizing, EveryClientsDisturbanceCounts) {
  std::vector<StoredRun> runs;
  for (const char* node : {"n1", "n2", "n3", "n4"}) {
    runs.push_back(run_of(node));
    add(runs.back(), "small_file_read", "read_bandwidth", 5e6);  // 20 MB/s of 32
  }
  const auto judged = [&] { return phase(size(job(), "job.yaml", runs), "cold_epoch"); };
  EXPECT_EQ(judged().outcome, Outcome::fail);
  for (const std::size_t client : {0u, 1u, 3u}) {
    disturb(runs[client].points[0], 3);
    EXPECT_EQ(judged().reason, Reason::disturbed) << client;
    disturb(runs[client].points[0], 0);
    unsettle(runs[client].points[0], 3);
    EXPECT_EQ(judged().reason, Reason::not_steady) << client;
    unsettle(runs[client].points[0], 0);
  }
}

TEST(Sizing, AClusterMeasuredByOneRunIsNotMultiplied) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 33e6);
  runs[0].points[0].nodes = 4;
  const Sizing s = size(job(), "job.yaml", runs);
  const Phase& p = phase(s, "cold_epoch");
  EXPECT_EQ(p.supply.clients, 4u);
  EXPECT_EQ(p.supply.basis, Basis::measured);
  EXPECT_NEAR(p.supply.value.mean, 33e6, 1);
  EXPECT_EQ(p.gpus_fed->mean, 33);
}

TEST(Sizing, RunsAtTheSameTimeAddUp) {
  std::vector<StoredRun> runs;
  for (const char* node : {"n1", "n2", "n3", "n4"}) {
    runs.push_back(run_of(node));
    add(runs.back(), "small_file_read", "read_bandwidth", 9e6);
  }
  const Sizing s = size(job(), "job.yaml", runs);
  const Phase& p = phase(s, "cold_epoch");
  EXPECT_EQ(p.supply.clients, 4u);
  EXPECT_NEAR(p.supply.value.mean, 36e6, 1);
  EXPECT_LT(p.supply.value.low, 36e6);
  EXPECT_EQ(p.supply.basis, Basis::measured);
  EXPECT_EQ(p.outcome, Outcome::pass);
  EXPECT_EQ(sessions_of(runs).size(), 1u);
  runs[3].started_utc = "2026-01-31T13:00:00Z";
  EXPECT_EQ(sessions_of(runs).size(), 2u);
}

TEST(Sizing, ASaturatedSupplyStopsGrowing) {
  std::vector<StoredRun> runs;
  runs.push_back(run_of("n1"));
  add(runs.back(), "small_file_read", "read_bandwidth", 10e6);
  for (const char* node : {"n1", "n2"}) {
    runs.push_back(run_of(node, "2026-01-31T13:00:00Z"));
    add(runs.back(), "small_file_read", "read_bandwidth", 5.2e6);
  }
  const Sizing s = size(job(), "job.yaml", runs);
  EXPECT_TRUE(phase(s, "cold_epoch").curve->saturated());
  EXPECT_NEAR(phase(s, "cold_epoch").supply.value.mean, 10.4e6, 0.1e6);
  EXPECT_EQ(phase(s, "cold_epoch").outcome, Outcome::fail);
  const Scaling& curve = s.scaling[0];
  EXPECT_EQ(curve.measured_to_gpus, 16);
  for (std::size_t i = 0; i < curve.gpus.size(); ++i)
    EXPECT_EQ(curve.extrapolated[i], curve.gpus[i] > 16) << curve.gpus[i];
  EXPECT_EQ(*curve.crossing, 10);  // 10.4 MB/s
}

/// Nodes that gave those rates in one run each, all at once.
std::vector<StoredRun> runs_of(const std::vector<std::pair<unsigned, double>>& rates) {
  std::vector<StoredRun> runs;
  for (const auto& [nodes, rate] : rates) {
    runs.push_back(run_of("n1", "2026-01-31T1" + std::to_string(runs.size()) + ":00:00Z"));
    add(runs.back(), "small_file_read", "read_bandwidth", rate);
    runs.back().points[0].nodes = nodes;
  }
  return runs;
}

TEST(Sizing, MoreNodesThanWereMeasuredAreExpected) {
  const auto runs = runs_of({{1, 20e6}, {2, 36e6}});
  const Sizing s = size(job({"cluster.nodes=64"}), "job.yaml", runs);  // 512 MB/s
  const Phase& p = phase(s, "cold_epoch");
  EXPECT_EQ(p.outcome, Outcome::inconclusive);
  EXPECT_EQ(p.reason, Reason::extrapolated);
  EXPECT_EQ(p.supply.basis, Basis::extrapolated);
  EXPECT_LT(p.supply.value.mean, 0.8 * 32 * 36e6);  // two nodes' rate times 32
  EXPECT_EQ(p.explanation.find("Expected with 64 nodes, extrapolated from 1, 2 nodes: "), 0u) << p.explanation;
  EXPECT_EQ(s.sentence.find("this storage is expected to feed "), 0u) << s.sentence;
  EXPECT_NE(s.sentence.find("] of 512 GPUs, extrapolated from 1, 2 nodes"), std::string::npos) << s.sentence;
  EXPECT_EQ(s.measured_nodes, 2);
  EXPECT_EQ(s.basis, Basis::extrapolated);
  EXPECT_NE(sizing_json(s).find("\"extrapolated_from\": \"1, 2 nodes\""), std::string::npos);
}

TEST(Sizing, AnExpectationMayFailAndNeverPasses) {
  const auto outcome = [](const std::vector<StoredRun>& runs, const char* step) {
    const Sizing s = size(job({"cluster.nodes=64", std::string("step.time=") + step}), "job.yaml", runs);
    EXPECT_EQ(s.sentence.find("this storage is expected to feed "), 0u) << s.sentence;
    return phase(s, "cold_epoch").outcome;
  };
  const auto grows = runs_of({{1, 20e6}, {2, 40e6}}), flat = runs_of({{1, 40e6}, {8, 41e6}});
  EXPECT_EQ(outcome(grows, "100s"), Outcome::inconclusive);  // a hundredth of what it gives
  EXPECT_EQ(outcome(grows, "100ms"), Outcome::fail);
  EXPECT_EQ(outcome(flat, "1s"), Outcome::fail);  // in proportion it would get 328 MB/s, of 512
  EXPECT_EQ(outcome(flat, "2s"), Outcome::fail);  // 256 MB/s are needed
  EXPECT_EQ(outcome(flat, "100s"), Outcome::inconclusive);
}

TEST(Sizing, FixesNameTheirBasis) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 4e6, {{"engine", "posix"}, {"workers", "8"}});
  add(runs[0], "small_file_read", "read_bandwidth", 6e6, {{"engine", "posix"}, {"workers", "32"}});
  add(runs[0], "shard_stream", "read_bandwidth", 50e6);
  add(runs[0], "checkpoint_write", "durable_bandwidth", 0.7e9, {}, "asis");
  const Sizing s = size(job({"cluster.nodes=1", "checkpoint.stall=10s"}), "job.yaml", runs);
  EXPECT_EQ(phase(s, "cold_epoch").gpus_fed->mean,
            4);  // the point with as many workers as planned
  const Fix* shards = fix(s, "shards");
  ASSERT_NE(shards, nullptr);
  EXPECT_EQ(*shards->basis, Basis::measured);
  EXPECT_EQ(shards->phase_gpus_fed->mean, 50);
  EXPECT_EQ(shards->gpus_fed->mean, 8);
  EXPECT_FALSE(shards->capped);  // the save still falls short: 14 GB in 20 s, not 10
  const Fix* workers = fix(s, "workers");
  ASSERT_NE(workers, nullptr);
  EXPECT_EQ(*workers->basis, Basis::measured);
  EXPECT_EQ(workers->phase_gpus_fed->mean, 6);
  EXPECT_EQ(workers->built_on[0], "n1-run/small_file_read/engine:posix/workers:32.read_bandwidth");
  const Fix* async = fix(s, "async");
  ASSERT_NE(async, nullptr);
  EXPECT_EQ(*async->basis, Basis::modelled);
  EXPECT_FALSE(async->phase_gpus_fed);  // no number of GPUs makes a checkpoint smaller
  EXPECT_GT(async->phase_headroom->low, 1);
  EXPECT_EQ(*fix(s, "storage")->basis, Basis::extrapolated);
  EXPECT_EQ(fix(s, "storage")->gpus_fed->mean, 8);
  for (const Fix& f : s.fixes) EXPECT_FALSE(f.command.empty()) << f.fix;
}

TEST(Sizing, TheLargestWriterSetsTheTimeOfASave) {
  std::vector<StoredRun> runs{run_of()};
  const auto add_of_all = [&runs](const char* metric, double rate) {
    add(runs[0], "checkpoint_write", metric, rate, {}, "asis");
    runs[0].points.back().nodes = 4;
  };
  add_of_all("durable_bandwidth", 2e9);
  const Sizing even = size(job({"parallelism.sharding=zero3"}), "job.yaml", runs),
               uneven = size(job({"parallelism.sharding=zero1"}), "job.yaml", runs);
  EXPECT_EQ(fix(even, "sharding"), nullptr);
  ASSERT_NE(fix(uneven, "sharding"), nullptr);
  // 32 ranks on 4 nodes: one writes 2 GB of weights, each its part of 12 GB; 5 GB over 3.5 GB.
  EXPECT_NEAR(phase(uneven, "checkpoint_save").demand.required, 14e9 / 10 * 5 / 3.5, 1);
  EXPECT_NEAR(phase(even, "checkpoint_save").demand.required, 14e9 / 10, 1);
  ASSERT_TRUE(even.calendar && uneven.calendar);
  EXPECT_NEAR(uneven.calendar->save_s, even.calendar->save_s * 5 / 3.5, 1e-6);
  // Writing behind, all wait for the same node.
  const Sizing behind = size(job({"parallelism.sharding=zero1", "checkpoint.mode=async"}), "job.yaml", runs);
  ASSERT_TRUE(behind.calendar);
  EXPECT_NEAR(behind.calendar->save_s, 14e9 / 2e9 * 5 / 3.5, 1e-6);
  // Training stands still while a node's part is copied to host memory: the largest one, where that was measured.
  add_of_all("stage_bandwidth", 28e9);
  const Sizing staged = size(job({"parallelism.sharding=zero1", "checkpoint.mode=async"}), "job.yaml", runs);
  ASSERT_TRUE(staged.calendar);
  EXPECT_NEAR(staged.calendar->stall_s, 14e9 * 5 / 3.5 / 28e9, 1e-6);
}

TEST(Sizing, CalendarAndCapacity) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "checkpoint_write", "durable_bandwidth", 1.4e9, {}, "asis");
  add(runs[0], "checkpoint_read", "read_bandwidth", 2.8e9);
  add(runs[0], "host_facts", "free_space", 40e9, {}, "asis");
  runs[0].environment["file_system.size"] = "42 GB";
  const Sizing s = size(job({"cluster.nodes=1"}), "job.yaml", runs);
  ASSERT_TRUE(s.calendar);
  EXPECT_NEAR(s.calendar->save_s, 10, 1e-6);
  EXPECT_NEAR(*s.calendar->restore_s, 5, 1e-6);
  EXPECT_NEAR(*s.calendar->young_s, std::sqrt(2 * 10 * 36000.), 1e-6);
  EXPECT_NEAR(*s.calendar->lost, 10. / 600 + (300. + 305) / 36000, 1e-9);
  EXPECT_EQ(s.calendar->tradeoff.size(), 61u);
  EXPECT_DOUBLE_EQ(s.capacity.needed, 1e9 + 3 * 14e9);
  EXPECT_EQ(s.capacity.outcome, Outcome::fail);
}

TEST(Sizing, AssumptionsReportWhereTheyFlip) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 16e6);
  const Sizing s = size(job({"cluster.nodes=1"}), "job.yaml", runs);  // needs 8 MB/s
  const auto sample = std::find_if(s.assumptions.begin(), s.assumptions.end(),
                                   [](const Assumption& a) { return a.key == "dataset.sample_size"; });
  ASSERT_NE(sample, s.assumptions.end());
  ASSERT_TRUE(sample->flips_at);
  EXPECT_NEAR(*sample->flips_at, 2e6, 2e3);
  const auto time = std::find_if(s.assumptions.begin(), s.assumptions.end(),
                                 [](const Assumption& a) { return a.key == "step.time"; });
  ASSERT_NE(time, s.assumptions.end());
  EXPECT_NEAR(*time->flips_at, 0.5, 1e-3);
}

TEST(Sizing, ASufficientSystemIsReportedWithoutFixes) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 16e6, {}, "warm");
  try {
    size(job(), "job.yaml", runs);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("small_file_read.read_bandwidth, cold"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("headrace run -c configs/sizing.yaml"), std::string::npos);
  }
}

TEST(Sizing, AConfigurationWithoutAColdPointIsNotNamedForAColdFigure) {
  const job::Job planned = job();
  const std::string file = "job.yaml";
  for (const auto& [cache, config] : {std::pair{"cold", "mine.yaml"}, {"asis", "configs/sizing.yaml"}}) {
    StoredRun run = run_of();
    run.config_file = "mine.yaml";
    add(run, "small_file_read", "read_bandwidth", 1e6, {}, cache);
    add(run, "checkpoint_write", "durable_bandwidth", 1e6, {}, "asis");
    const std::vector<Session> sessions{Session{&run}};
    const Commands commands(planned, file, sessions);
    EXPECT_EQ(commands.measure("cold_epoch").find(std::string("headrace run -c ") + config + " "), 0u) << cache;
    EXPECT_EQ(commands.measure("checkpoint_save").find("headrace run -c mine.yaml "), 0u) << "any state answers";
  }
}

TEST(Sizing, FailedMeasurementsHaveReasons) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 6e6);
  add(runs[0], "epochs", "steady_read_bandwidth", 6e6);
  runs[0].points.back().status = "ok";
  runs[0].points.back().notes = {"the page cache holds the data set"};
  const auto why_of = [](const Sizing& s, std::string_view phase) {
    for (const NotMeasured& one : s.not_measured)
      if (one.phase == phase) return one.why;
    return std::string("measured");
  };
  const Sizing s = size(job({"cache.available=100MB"}), "job.yaml", runs);
  EXPECT_EQ(why_of(s, "steady_epoch"),
            runs[0].points.back().id + " did not report it: the page cache holds the data set");
  EXPECT_EQ(why_of(s, "metadata"), "no run has metadata.operation_rate, cold");
}

TEST(Sizing, JsonHoldsAllOfIt) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 6e6);
  const auto json = nlohmann::json::parse(sizing_json(size(job(), "job.yaml", runs)));
  EXPECT_EQ(json["kind"], "headrace.size");
  EXPECT_EQ(json["summary"]["basis"], "measured");
  EXPECT_EQ(json["summary"]["measured_nodes"], 1);
  EXPECT_EQ(json["phases"][0]["gpus"], 8);
  EXPECT_EQ(json["phases"][0]["gpus_fed"]["formula"], "G8");
  EXPECT_EQ(json["scaling"][0]["supply"].size(), json["scaling"][0]["extrapolated"].size());
  EXPECT_EQ(json["scaling"][0]["gpus"].size(), json["scaling"][0]["demand"].size());
  EXPECT_FALSE(json["not_measured"].empty());
}

/// Four of sixteen nodes, first one, then two, then four at once: everything that a sizing can
/// hold.
std::vector<StoredRun> example() {
  std::vector<StoredRun> runs;
  int hour = 10;
  for (const int clients : {1, 2, 4}) {
    for (int n = 1; n <= clients; ++n) {
      runs.push_back(run_of("node0" + std::to_string(n), "2026-01-31T" + std::to_string(hour) + ":00:00Z"));
      StoredRun& run = runs.back();
      run.id = "sizing-" + std::to_string(clients) + "-" + run.node;
      run.path = "runs/" + run.id + "/run.json";
      run.config_file = "configs/sizing.yaml";
      run.config_hash = "51f0a3c2";
      const double share = clients == 4 ? 0.82 : 1;  // the storage begins to limit
      const auto measure = [&](const char* workload, const char* metric, double value,
                               std::map<std::string, std::string> params = {}, const char* cache = "cold") {
        add(run, workload, metric, value, std::move(params), cache, 10);
      };
      measure("small_file_read", "read_bandwidth", 0.62e9 * share,
              {{"engine", "posix"}, {"file_size", "110000"}, {"workers", "32"}});
      measure("small_file_read", "read_bandwidth", 1.05e9 * share,
              {{"engine", "posix"}, {"file_size", "110000"}, {"workers", "128"}});
      measure("shard_stream", "read_bandwidth", 2.4e9 * share, {{"workers", "8"}});
      measure("metadata", "operation_rate", 52e3 * share);
      measure("checkpoint_write", "durable_bandwidth", 1.5e9 * share, {{"mode", "sync"}}, "asis");
      measure("checkpoint_write", "stage_bandwidth", 11e9, {{"mode", "async"}}, "asis");
      measure("checkpoint_read", "read_bandwidth", 2.6e9 * share);
      measure("memory_copy", "copy_bandwidth", 110e9, {}, "asis");
      measure("host_facts", "free_space", 60e12, {}, "asis");
    }
    ++hour;
  }
  for (StoredRun& run : runs)
    for (StoredPoint& p : run.points)
      for (results::StoredMetric& m : p.metrics)
        if (m.name == "operation_rate") m.unit = "1/s";
  return runs;
}

constexpr const char* kExampleJob = R"(schema: 1
job: example
description: Vision-language model, 128 GPUs, images as files
cluster: {nodes: 16, gpus_per_node: 8, gpu_price: 2.5, mtbf: 20h, restart: 5min, run_time: 30d}
step: {time: 100ms, micro_batch: 64}
dataset: {layout: files, samples: 400e6, sample_size: 110kB, decoded_size: 602112B, metadata_ops_per_open: 4}
loader: {workers_per_gpu: 4}
model: {parameters: 9e9}
parallelism: {sharding: zero1}
checkpoint: {interval: 20min, stall: 40s, restore: 2min, keep: 3}
cache: {available: 1TB}
)";

TEST(Sizing, TheExampleIsTheGoldenFile) {
  const headrace::testing::TemporaryFolder folder;
  folder.write("job.yaml", kExampleJob);
  const auto runs = example();
  const std::string text = sizing_json(size(job::load_job(folder / "job.yaml"), "jobs/example.yaml", runs));
  auto json = nlohmann::ordered_json::parse(text);
  json["headrace"] = {{"version", "0.1.0"}, {"revision", "abc123"}, {"compiler", "GCC 12.2.0"}};
  const std::string path = source_dir() + "/tests/golden/size.json";
  const std::string reported = results::json_text(json);
  if (std::getenv("HEADRACE_WRITE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << reported;
  std::ifstream file(path, std::ios::binary);
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(reported, golden.str()) << "HEADRACE_WRITE_GOLDEN=1 writes it anew";
}

}  // namespace
}  // namespace headrace::sizing::sizing_test
