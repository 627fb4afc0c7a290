// What a fix promises is what sizing says of the job with that fix made.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "harness/analysis/sizing/sizing.h"
#include "tests/unit/sizing_runs.h"

namespace headrace::sizing::sizing_fixes_test {
namespace {

using results::StoredRun;

const Phase* phase(const Sizing& s, std::string_view name) {
  for (const Phase& p : s.phases)
    if (p.phase == name) return &p;
  return nullptr;
}
const Fix* fix(const Sizing& s, std::string_view name) {
  for (const Fix& f : s.fixes)
    if (f.fix == name) return &f;
  return nullptr;
}

std::vector<StoredRun> all_ways() {
  std::vector<StoredRun> runs{run_of()};
  StoredRun& run = runs[0];
  add(run, "small_file_read", "read_bandwidth", 4e6, {{"engine", "posix"}, {"workers", "8"}});
  add(run, "small_file_read", "read_bandwidth", 6e6, {{"engine", "posix"}, {"workers", "32"}});
  add(run, "small_file_read", "read_bandwidth", 9e6, {{"engine", "io_uring"}, {"workers", "1"}, {"queue_depth", "64"}});
  add(run, "shard_stream", "read_bandwidth", 50e6, {{"workers", "8"}});
  add(run, "random_read", "read_bandwidth", 3e6, {{"workers", "8"}, {"block_size", "131072"}});
  add(run, "random_read", "read_bandwidth", 7e6, {{"workers", "8"}, {"block_size", "2097152"}});
  add(run, "metadata", "operation_rate", 2, {{"workers", "8"}});
  add(run, "checkpoint_write", "durable_bandwidth", 0.11e9, {{"mode", "sync"}}, "asis");
  add(run, "checkpoint_write", "durable_bandwidth", 0.09e9, {{"mode", "async"}}, "asis");
  add(run, "checkpoint_write", "stage_bandwidth", 2e9, {{"mode", "async"}}, "asis");
  add(run, "checkpoint_read", "read_bandwidth", 2e9);
  return runs;
}

TEST(SizingFixes, PredictTheSizingOfTheChangedJob) {
  const auto runs = all_ways();
  const std::vector<std::vector<std::string>> jobs = {
      {},
      {"cluster.nodes=1"},
      {"parallelism.sharding=zero1"},
      {"parallelism.sharding=zero2", "cluster.nodes=2", "checkpoint.stall=3s"},
      {"cluster.nodes=1", "checkpoint.stall=100s", "checkpoint.overhead=2s"},
      {"dataset.layout=tokens", "dataset.request_size=128KiB"},
      {"dataset.layout=shards", "dataset.samples_per_file=100", "step.time=100ms"}};
  std::set<std::string> seen;
  for (const auto& overrides : jobs) {
    const Sizing before = size(job(overrides), "job.yaml", runs);
    for (const Fix& f : before.fixes) {
      if (f.set.empty()) continue;
      const std::string where = f.fix + " of " + before.sentence;
      ASSERT_TRUE(f.phase_headroom) << where;
      seen.insert(f.fix);
      auto changed = overrides;
      changed.insert(changed.end(), f.set.begin(), f.set.end());
      for (const std::string& one : f.set) EXPECT_NE(f.command.find("--set " + one), std::string::npos) << f.command;
      const Sizing after = size(job(changed), "job.yaml", runs);
      const Phase* p = phase(after, f.phase);
      ASSERT_NE(p, nullptr) << where;
      EXPECT_DOUBLE_EQ(f.phase_headroom->mean, p->headroom.mean) << where;
      EXPECT_DOUBLE_EQ(f.phase_headroom->low, p->headroom.low) << where;
      EXPECT_DOUBLE_EQ(f.phase_headroom->high, p->headroom.high) << where;
      ASSERT_EQ(f.gpus_fed.has_value(), after.gpus_fed.has_value()) << where;
      if (f.gpus_fed) {
        EXPECT_EQ(f.gpus_fed->mean, after.gpus_fed->mean) << where;
        EXPECT_EQ(f.gpus_fed->low, after.gpus_fed->low) << where;
        EXPECT_EQ(f.gpus_fed->high, after.gpus_fed->high) << where;
      }
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"async", "interval", "requests", "sharding", "shards", "workers"}));
}

TEST(SizingFixes, AnAsynchronousSaveStillWaitsForTheLargestWriter) {
  // 4 nodes with 5 / 3.5 of the mean on one: 14 GB in 590 s ask for 33.9 MB/s, not 23.7.
  const auto runs = all_ways();
  const Sizing s = size(job({"parallelism.sharding=zero1"}), "job.yaml", runs);
  const Fix* async = fix(s, "async");
  ASSERT_NE(async, nullptr);
  EXPECT_NEAR(async->phase_headroom->mean, 4 * 0.09e9 / (14e9 / 590 * 5 / 3.5), 1e-6);
}

TEST(SizingFixes, ADifferentEngineIsNoSwitchOfALoader) {
  const Sizing s = size(job({"cluster.nodes=1"}), "job.yaml", all_ways());
  EXPECT_EQ(fix(s, "engine"), nullptr);  // though it gave most
  for (const Fix& f : s.fixes) EXPECT_EQ((f.title + f.explanation).find("io_uring"), std::string::npos) << f.title;
}

TEST(SizingFixes, NothingIsAdvisedThatWasMeasuredToGiveNoMore) {
  const auto advised = [](const char* what, const char* workload, const char* key, const char* now, const char* more,
                          double gave, const std::vector<std::string>& set) {
    std::vector<StoredRun> runs{run_of()};
    add(runs[0], workload, "read_bandwidth", 4e6, {{"engine", "posix"}, {key, now}});
    if (gave > 0) add(runs[0], workload, "read_bandwidth", gave, {{"engine", "posix"}, {key, more}});
    return fix(size(job(set), "job.yaml", runs), what) != nullptr;
  };
  const std::vector<std::string> files = {"cluster.nodes=1"};
  EXPECT_TRUE(advised("workers", "small_file_read", "workers", "8", "", 0, files));
  EXPECT_TRUE(advised("workers", "small_file_read", "workers", "8", "64", 6e6, files));
  EXPECT_FALSE(advised("workers", "small_file_read", "workers", "8", "64", 4e6, files));
  const std::vector<std::string> shards = {"cluster.nodes=1", "dataset.layout=shards", "dataset.request_size=128KiB"};
  EXPECT_TRUE(advised("requests", "shard_stream", "block_size", "131072", "", 0, shards));
  EXPECT_TRUE(advised("requests", "shard_stream", "block_size", "131072", "1048576", 6e6, shards));
  EXPECT_FALSE(advised("requests", "shard_stream", "block_size", "131072", "1048576", 4e6, shards));
}

/// The fix that asks for more workers of a job with `per_gpu`, measured with `workers` of 4 MB/s.
std::string more_workers(int per_gpu, const char* workers) {
  std::vector<StoredRun> runs{run_of()};
  add(runs[0], "small_file_read", "read_bandwidth", 4e6, {{"workers", workers}});
  const Sizing s = size(job({"cluster.nodes=1", fmt::format("loader.workers_per_gpu={}", per_gpu)}), "job.yaml", runs);
  const Fix* f = fix(s, "workers");
  return f == nullptr ? "" : f->title;
}

TEST(SizingFixes, NeverAskForFewerWorkersThanTheJobHas) {
  // 8 MB/s needed, at worst 3.76 given by 8: 17.0 workers, on 8 GPUs 3 each.
  EXPECT_EQ(more_workers(1, "8"), "24 reading workers per node, not 8");
  EXPECT_EQ(more_workers(3, "8"), "");  // the job has as many: measure with them
  EXPECT_EQ(more_workers(8, "8"), "");
}

}  // namespace
}  // namespace headrace::sizing::sizing_fixes_test
