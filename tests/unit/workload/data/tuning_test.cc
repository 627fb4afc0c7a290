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

/// A is the fastest in the last of three turns only: medians decide.
TEST(SearchTest, HalvesTheSettingsAndDoublesTheTimeUntilThreeAreLeft) {
  std::vector<Way> ways;
  for (const char* name : {"h", "c", "g", "b", "f", "a", "e", "d"}) ways.push_back({name, 1, 1});
  std::string order;
  std::vector<double> seconds;
  const auto tried = search(ways, [&](const Way& way, double each) {
    order += way.engine;
    seconds.push_back(each);
    if (order.size() > 12 && way.engine == "a") return std::vector<double>{50, 60, 900}.at((order.size() - 13) / 3);
    return 1000.0 - 100 * (way.engine[0] - 'a');
  });
  EXPECT_EQ(order,
            "hcgbfaed"
            "abcd"
            "abc"
            "abc"
            "abc");
  std::vector<double> expected(8, 0.08);
  expected.insert(expected.end(), 4, 0.16);
  expected.insert(expected.end(), 9, 0.32);
  EXPECT_EQ(seconds, expected);
  ASSERT_EQ(tried.size(), 3u);
  EXPECT_EQ(tried[0].way.engine, "b");
  EXPECT_EQ(tried[2].way.engine, "a");
  EXPECT_EQ(tried[2].bytes_per_s, 60);
}

TEST(SearchTest, AnUnusableSettingLoses) {
  const auto tried = search({{"broken", 1, 1}, {"good", 1, 1}}, [](const Way& way, double) {
    if (way.engine == "broken") throw RunError("no");
    return 1.0;
  });
  EXPECT_EQ(tried.front().way.engine, "good");
  EXPECT_EQ(tried.back().bytes_per_s, 0);
}

Tuning tuning_of(const std::string& yaml, bool block_size_too = true) {
  Diagnostics problems;
  const config::Value entry = config::parse_yaml(yaml, "test.yaml", problems);
  Params params("w", entry, problems);
  const StorageParams io = StorageParams::declare(params, {.workers = 1, .block_size = 1_MiB, .direct_allowed = true});
  return Tuning::declare(params, io, block_size_too);
}

std::vector<Way> ways_of(const std::string& yaml, bool block_size_too = true) {
  return tuning_of(yaml + "\ntune: true\n", block_size_too).ways(Backends());
}

TEST(TuningTest, GivenSettingsStay) {
  for (const Way& way : ways_of("engine: posix\nblock_size: 64KiB")) {
    EXPECT_EQ(way.engine, "posix");
    EXPECT_EQ(way.block_size, 64_KiB);
    EXPECT_EQ(way.queue_depth, 1u);
  }
  EXPECT_EQ(ways_of("engine: posix").size(), 6u);
  ASSERT_EQ(ways_of("engine: posix", false).size(), 1u) << "blocks have one size";
  EXPECT_EQ(ways_of("engine: posix", false)[0].block_size, 1_MiB);
  if (Backends().why_not("io_uring").empty()) {
    std::vector<std::uint32_t> depths;
    for (const Way& way : ways_of("engine: io_uring\nblock_size: 64KiB")) depths.push_back(way.queue_depth);
    EXPECT_EQ(depths, (std::vector<std::uint32_t>{1, 2, 4, 8, 16, 32}));
    for (const Way& way : ways_of("queue_depth: 16")) EXPECT_EQ(way.engine, "io_uring") << "posix waits";
    EXPECT_EQ(ways_of("queue_depth: 16").size(), 6u);
    EXPECT_EQ(ways_of("queue_depth: 1").size(), 12u);
  }
  const auto all = ways_of("direct: true");
  EXPECT_GE(all.size(), 6u);
  EXPECT_LE(all.size(), 42u);
}

TEST(TuningTest, SearchesOnceAndOnlyWhereItIsWanted) {
  std::vector<std::string> used;
  unsigned trials = 0;
  const auto run = [&](Tuning& tuning) {
    tuning.run(
        [&](double, const std::string&) -> std::optional<PhaseResult> {
          ++trials;
          if (used.back().find("256 KiB") != std::string::npos) return std::nullopt;  // a worker failed
          PhaseResult phase;
          phase.elapsed_s = 1;
          phase.bytes = used.back().find("512 KiB") != std::string::npos ? 2'000'000 : 1'000'000;
          return phase;
        },
        Backends(), [&](const Way& way) { used.push_back(to_string(way)); });
  };
  Tuning unwanted = tuning_of("engine: posix");
  run(unwanted);
  EXPECT_EQ(trials, 0u);
  Tuning tuning = tuning_of("engine: posix\ntune: true\n");
  run(tuning);
  EXPECT_EQ(trials, 15u) << "six ways, then three of them three times";
  EXPECT_EQ(used.back(), "posix, 512 KiB blocks, 1 in flight");
  EXPECT_EQ(
      tuning.note(),
      "tuned: posix, 512 KiB blocks, 1 in flight: 2.00 MB/s; next: posix, 128 KiB blocks, 1 in flight: 1.00 MB/s");
  run(tuning);
  EXPECT_EQ(trials, 15u);
  Tuning two = tuning_of("engine: posix\nblock_size: 256KiB\ntune: true\n");
  run(two);
  EXPECT_EQ(two.note(), "tuned: posix, 256 KiB blocks, 1 in flight: 0 B/s") << "there is no other";
}

TEST(TuningTest, LeavesTheWorkloadReadyAndReportsItsChoice) {
  WorkloadRunner runner("shard_stream", "files: 2\nfile_size: 300000B\nworkers: 1\ntune: true\nengine: posix\n");
  runner.prepare();
  runner.search(CacheState::warm);
  EXPECT_EQ(runner.repeat().phases.front().bytes, 600'000u);
  const auto notes = runner->notes();
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](auto& n) { return n.starts_with("tuned: posix, "); }));
}

}  // namespace
}  // namespace headrace::tuning_test
