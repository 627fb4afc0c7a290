#include "harness/workload/data/tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "harness/backends/loader.h"
#include "tests/unit/workload_runner.h"

namespace headrace::tuning_test {
namespace {

using testing::problems_of;
using testing::WorkloadRunner;

TEST(SearchTest, FindsTheBestAmongManyInSpiteOfNoise) {
  std::vector<Way> ways;
  for (std::uint32_t depth = 1; depth <= 40; ++depth) ways.push_back({"e", 1 << 20, depth});
  double noise = 0, spent = 0;
  const auto tried = search(ways, [&](const Way& way, double seconds) {
    noise = noise == 0.01 ? -0.01 : 0.01;
    spent += seconds;
    return (100.0 - std::abs(static_cast<int>(way.queue_depth) - 17) * 3) * (1 + noise);
  });
  EXPECT_EQ(tried.front().way.queue_depth, 17u);
  EXPECT_NEAR(tried.front().bytes_per_s, 100, 2);
  EXPECT_EQ(tried.size(), 3u);
  EXPECT_LT(spent, 30);
}

TEST(SearchTest, AWayThatCannotBeUsedLoses) {
  const auto tried = search({{"broken", 1, 1}, {"good", 1, 1}}, [](const Way& way, double) {
    if (way.engine == "broken") throw RunError("no");
    return 1.0;
  });
  EXPECT_EQ(tried.front().way.engine, "good");
  EXPECT_EQ(tried.back().bytes_per_s, 0);
}

std::vector<Way> ways_of(const std::string& yaml) {
  Diagnostics problems;
  const config::Value entry = config::parse_yaml(yaml + "\ntune: true\n", "test.yaml", problems);
  Params params("w", entry, problems);
  const StorageParams io = StorageParams::declare(params, {.workers = 1, .block_size = 1_MiB, .direct_allowed = true});
  const Tuning tuning = Tuning::declare(params, io, true);
  return tuning.ways(Backends());
}

TEST(TuningTest, WhatIsGivenStays) {
  for (const Way& way : ways_of("engine: posix\nblock_size: 64KiB")) {
    EXPECT_EQ(way.engine, "posix");
    EXPECT_EQ(way.block_size, 64_KiB);
    EXPECT_EQ(way.queue_depth, 1u);
  }
  EXPECT_EQ(ways_of("engine: posix").size(), 6u);
  const auto all = ways_of("direct: true");
  EXPECT_GE(all.size(), 6u);
  EXPECT_LE(all.size(), 42u);
}

TEST(TuningTest, LeavesTheWorkloadReadyAndSaysWhatItFound) {
  WorkloadRunner runner("shard_stream", "files: 2\nfile_size: 300000B\nworkers: 1\ntune: true\nengine: posix\n");
  runner.prepare();
  runner.search(CacheState::warm);
  EXPECT_EQ(runner.repeat().phases.front().bytes, 600'000u);
  const auto notes = runner->notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](auto& n) { return n.starts_with("tuned: posix, "); }));
}

}  // namespace
}  // namespace headrace::tuning_test
