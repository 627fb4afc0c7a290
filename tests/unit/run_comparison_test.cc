// Runs held against each other: joining, gates, doubts, fingerprints, history and blocks.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/comparison/comparison.h"
#include "harness/comparison/output.h"
#include "harness/statistics/summary.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::comparison {
namespace {

using results::StoredRun;
using statistics::Change;

results::StoredMetric metric(const std::string& name, std::vector<double> values,
                             Better better = Better::higher, const std::string& unit = "B/s") {
  results::StoredMetric m;
  m.name = name;
  m.unit = unit;
  m.better = better;
  m.median = statistics::median(values);
  m.values = std::move(values);
  return m;
}

/// A run with one point of `scale` times 100 MB/s; p99 moves the other way.
StoredRun run(double scale, const std::string& id = "r") {
  StoredRun r;
  r.id = id;
  r.node = "node17";
  r.started_utc = "2026-01-31T12:00:00Z";
  r.config_hash = "9f2c";
  r.version = "0.1.0";
  r.environment = {{"kernel.release", "6.1.0"}, {"host.name", "node17"}, {"device.firmware", "1"}};
  results::StoredPoint p;
  p.id = p.workload = "shard_stream";
  p.params = {{"workers", "4"}, {"engine", "posix"}, {"cache", "cold"}};
  std::vector<double> rate, tail;
  for (const double x : {0.99, 1.0, 1.01, 0.995, 1.005, 1.0}) {
    rate.push_back(1e8 * scale * x);
    tail.push_back(2e6 / scale * x);
  }
  p.metrics = {metric("read_bandwidth", rate), metric("latency_p99_ns", tail, Better::lower, "ns")};
  p.repetitions = 6;
  r.points.push_back(p);
  return r;
}

Comparison compare_two(StoredRun a, StoredRun b, const Options& options = {}) {
  return compare({{"A", "a", {std::move(a)}, {}}, {"B", "b", {std::move(b)}, {}}}, options);
}

const Row& row(const Comparison& c, const std::string& metric) {
  for (const Row& r : c.pairs.at(0).rows)
    if (r.metric == metric) return r;
  throw std::runtime_error("no row " + metric);
}

TEST(RunComparison, AClearLossIsWorseAndFails) {
  const Comparison c = compare_two(run(1), run(0.8));
  const Row& r = row(c, "read_bandwidth");
  EXPECT_EQ(r.change, Change::worse);
  EXPECT_TRUE(r.gated);  // without needs, the workload's first metric
  EXPECT_NEAR(r.estimate->ratio, 0.8, 1e-12);
  EXPECT_EQ(row(c, "latency_p99_ns").change, Change::worse);
  EXPECT_EQ(row(c, "latency_p99_ns").delta, statistics::kDeltaTail);
  EXPECT_FALSE(row(c, "latency_p99_ns").gated);
  EXPECT_EQ(c.word, "FAIL");
  EXPECT_EQ(c.exit_code, 10);
  EXPECT_EQ(c.pairs[0].summary.sentence, "B vs A: 2 worse");
  EXPECT_NE(r.explanation.find("these two sessions differ"), std::string::npos);
}

TEST(RunComparison, TheSameIsTheSame) {
  const Comparison c = compare_two(run(1), run(1.001));
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::same);
  EXPECT_EQ(c.exit_code, 0);
  EXPECT_EQ(c.word, "PASS");
}

TEST(RunComparison, WithoutHistoryADifferenceWithinSessionsIsOpen) {
  const Comparison c = compare_two(run(1), run(0.945));
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::inconclusive);
  EXPECT_EQ(row(c, "read_bandwidth").reason, Reason::single_session);
  EXPECT_EQ(c.exit_code, 11);
}

TEST(RunComparison, HistoryOfTheSameMachineDecides) {
  Options options;
  for (int i = 0; i < 9; ++i) options.history.push_back(run(1 + 0.001 * (i % 3)));
  StoredRun other_machine = run(3);
  other_machine.environment["kernel.release"] = "5.0";
  options.history.push_back(other_machine);  // does not count
  const Comparison c = compare_two(run(1), run(0.94), options);
  EXPECT_EQ(c.history_sessions, 9u);
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::worse);
  EXPECT_TRUE(c.history_why.empty());
}

TEST(RunComparison, WhatDiffersUndeclaredLeavesChangesOpen) {
  StoredRun b = run(0.8);
  b.environment["kernel.release"] = "6.5.0";
  b.environment["host.name"] = "node18";
  const Comparison c = compare_two(run(1), b);
  ASSERT_EQ(c.fingerprint.size(), 2u);
  EXPECT_EQ(c.fingerprint[0].key, "kernel.release");
  EXPECT_FALSE(c.fingerprint[1].matters);
  EXPECT_EQ(row(c, "read_bandwidth").reason, Reason::fingerprint_differs);
  EXPECT_EQ(row(c, "read_bandwidth").next_step,
            "if this is what you compare, say so: --differs kernel");
  EXPECT_EQ(c.exit_code, 11);
  Options declared;
  declared.declared = {"kernel"};
  EXPECT_EQ(compare_two(run(1), b, declared).exit_code, 10);
}

TEST(RunComparison, GatesAreTheNeedsOrWhatTheUserNames) {
  StoredRun a = run(1);
  a.judgements = {{"tail", "node", "PASS", "shard_stream", "shard_stream.latency_p99_ns"}};
  const Comparison by_need = compare_two(a, run(0.8));
  EXPECT_TRUE(row(by_need, "latency_p99_ns").gated);
  EXPECT_FALSE(row(by_need, "read_bandwidth").gated);
  EXPECT_EQ(by_need.pairs[0].rows[0].metric, "latency_p99_ns");  // gates are told first
  Options options;
  options.gates = {"*.nothing"};
  EXPECT_EQ(compare_two(a, run(0.8), options).exit_code, 0);
}

TEST(RunComparison, PointsJoinOnFullParametersUnlessCompared) {
  StoredRun b = run(0.8);
  b.points[0].params["engine"] = "io_uring";
  try {
    compare_two(run(1), b);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_STREQ(e.what(),
                 "a and b measured nothing in common: shard_stream: measured with other "
                 "parameters: engine posix / io_uring");
  }
  Options options;
  options.across = {"engine"};
  EXPECT_EQ(row(compare_two(run(1), b, options), "read_bandwidth").change, Change::worse);
}

TEST(RunComparison, WhatCannotBeComparedIsNamed) {
  StoredRun a = run(1), b = run(1);
  a.points[0].metrics.push_back(metric("lonely", {1, 2}));
  a.points[0].metrics.push_back(metric("other_unit", {1, 2}));
  b.points[0].metrics.push_back(metric("other_unit", {1, 2}, Better::higher, "MB/s"));
  a.points[0].metrics.push_back(metric("zero", {1, 2}));
  b.points[0].metrics.push_back(metric("zero", {0, 2}));
  const auto left = compare_two(a, b).pairs[0].not_compared;
  ASSERT_EQ(left.size(), 3u);
  EXPECT_EQ(left[0].why, "only in A");
  EXPECT_EQ(left[1].why, "other units: 'B/s' and 'MB/s'");
  EXPECT_EQ(left[2].why, "a value of 0 has no ratio");
  Options options;
  options.gates = {"*.lonely"};
  EXPECT_EQ(compare_two(a, b, options).exit_code, 12);
  EXPECT_EQ(compare_two(a, b, options).word, "INCOMPLETE");
}

TEST(RunComparison, DoubtsComeBeforeNumbers) {
  StoredRun b = run(0.8);
  b.points[0].cache_unproven_share = 0.2;
  EXPECT_EQ(row(compare_two(run(1), b), "read_bandwidth").reason, Reason::cache_unproven);
  b = run(0.8);
  b.points[0].disturbed_share = 0.5;
  EXPECT_EQ(row(compare_two(run(1), b), "read_bandwidth").reason, Reason::disturbed);
  b = run(0.8);
  b.points[0].metrics[1].too_few_operations = true;
  EXPECT_EQ(row(compare_two(run(1), b), "latency_p99_ns").reason, Reason::few_ops);
  b = run(0.8);
  b.points[0].metrics[0].values = {8e7};
  EXPECT_EQ(row(compare_two(run(1), b), "read_bandwidth").reason, Reason::few_reps);
}

TEST(RunComparison, BlocksAreJudgedAtTheirLooks) {
  const auto sides = [](unsigned blocks, double scale) {
    std::vector<Side> both{{"A", "a", {}, {}}, {"B", "b", {}, {}}};
    for (unsigned block = 1; block <= blocks; ++block) {
      const double session = 1 + 0.05 * (block % 3);  // the same for both sides of a block
      both[0].runs.push_back(run(session));
      both[1].runs.push_back(run(session * scale * (1 + 0.002 * (block % 2))));
      for (Side& side : both) side.blocks.push_back(block);
    }
    return both;
  };
  const Comparison few = compare(sides(3, 0.9), {});
  EXPECT_EQ(row(few, "read_bandwidth").reason, Reason::few_reps);
  EXPECT_EQ(few.design.next_look, 6u);
  const Comparison six = compare(sides(6, 0.9), {});
  EXPECT_TRUE(six.design.interleaved);
  EXPECT_EQ(six.design.look, 6u);
  EXPECT_EQ(row(six, "read_bandwidth").change, Change::worse);
  EXPECT_EQ(row(six, "read_bandwidth").blocks.size(), 6u);
  EXPECT_EQ(six.exit_code, 10);
  EXPECT_EQ(compare(sides(6, 1), {}).exit_code, 0);
}

TEST(RunComparison, WhatDisturbsBothSidesOfBlocksAlikeIsNoDoubt) {
  const auto compared = [](double base, double other) {
    std::vector<Side> both{{"A", "a", {}, {}}, {"B", "b", {}, {}}};
    for (unsigned block = 1; block <= 6; ++block) {
      both[0].runs.push_back(run(1));
      both[1].runs.push_back(run(0.9 * (1 + 0.002 * (block % 2))));
      both[0].runs.back().points[0].disturbed_share = base;
      both[1].runs.back().points[0].disturbed_share = block == 1 ? 1 : other;
      for (Side& side : both) side.blocks.push_back(block);
    }
    return compare(both, {});
  };
  EXPECT_EQ(row(compared(0, 0), "read_bandwidth").change, Change::worse);  // one of twelve
  EXPECT_EQ(row(compared(1, 1), "read_bandwidth").change, Change::worse);
  EXPECT_TRUE(row(compared(1, 1), "read_bandwidth").blocks[0].disturbed);
  EXPECT_EQ(row(compared(0, 1), "read_bandwidth").reason, Reason::disturbed);
}

TEST(RunComparison, FilesHoldWhatWasDecided) {
  StoredRun b = run(0.8);
  b.points[0].id = "shard_stream/<script>";
  const Comparison c = compare_two(run(1), b);
  const auto json = nlohmann::json::parse(comparison_json(c));
  EXPECT_EQ(json["kind"], "headrace.comparison");
  EXPECT_EQ(json["summary"]["exit_code"], 10);
  const auto& first = json["pairs"][0]["rows"][0];
  EXPECT_EQ(first["status"], "worse");
  EXPECT_EQ(first["points"][1], "shard_stream/<script>");
  EXPECT_EQ(first["base"]["values"].size(), 6u);
  EXPECT_NE(comparison_csv(c).find("\r\nB vs A,shard_stream,shard_stream,"), std::string::npos);
  const std::string junit = comparison_junit(c);
  EXPECT_NE(junit.find("tests=\"2\" failures=\"1\" errors=\"0\""), std::string::npos) << junit;
  headrace::testing::TemporaryFolder folder;
  write_comparison(c, folder.path());
  EXPECT_EQ(folder.read("comparison.json"), comparison_json(c));
}

}  // namespace
}  // namespace headrace::comparison
