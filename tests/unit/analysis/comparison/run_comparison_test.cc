// Runs compared with each other: joining, gates, doubts, fingerprints, history and blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "harness/analysis/comparison/comparison.h"
#include "harness/analysis/comparison/output.h"
#include "harness/base/files/marked_folder.h"
#include "harness/judge/statistics/draws.h"
#include "harness/judge/statistics/summary.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::comparison::run_comparison_test {
namespace {

using results::StoredRun;
using statistics::Change;

results::StoredMetric metric(const std::string& name, std::vector<double> values, Better better = Better::higher,
                             const std::string& unit = "B/s") {
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
  EXPECT_EQ(c.word, Outcome::fail);
  EXPECT_EQ(c.exit_code, 10);
  EXPECT_EQ(c.pairs[0].summary.sentence, "B vs A: 2 worse");
  EXPECT_NE(r.explanation.find("these two sessions differ"), std::string::npos);
}

/// Nine past sessions that lie a tenth of a percent apart.
Options with_history() {
  Options options;
  for (int i = 0; i < 9; ++i) options.history.push_back(run(1 + 0.001 * (i % 3)));
  return options;
}

TEST(RunComparison, TheSameIsTheSame) {
  const Comparison c = compare_two(run(1), run(1.001), with_history());
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::same);
  EXPECT_EQ(c.exit_code, 0);
  EXPECT_EQ(c.word, Outcome::pass);
  EXPECT_EQ(c.pairs[0].summary.about_gates, "no gate is worse");
}

TEST(RunComparison, WithoutHistoryNothingIsSaidToBeTheSame) {
  const Comparison c = compare_two(run(1), run(1.001));
  EXPECT_EQ(row(c, "read_bandwidth").reason, Reason::single_session);
  EXPECT_EQ(c.exit_code, 11);
  // Nor that a small change would have been seen: sessions alone lie that far apart.
  EXPECT_GT(c.pairs[0].summary.smallest_visible, 0.15);
  EXPECT_NE(row(c, "read_bandwidth").explanation.find("the spread between sessions is not known"), std::string::npos);
}

TEST(RunComparison, WithoutHistoryADifferenceWithinSessionsIsOpen) {
  const Comparison c = compare_two(run(1), run(0.945));
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::inconclusive);
  EXPECT_EQ(row(c, "read_bandwidth").reason, Reason::single_session);
  EXPECT_EQ(c.exit_code, 11);
}

TEST(RunComparison, HistoryOfTheSameMachineDecides) {
  Options options = with_history();
  StoredRun other_machine = run(3);
  other_machine.environment["kernel.release"] = "5.0";
  options.history.push_back(other_machine);  // does not count
  StoredRun unproven = run(0.5), disturbed = run(0.5);
  unproven.points[0].cache_unproven_share = 0.2;
  disturbed.points[0].disturbed_share = 0.5;
  options.history.push_back(unproven);  // nor what is no evidence
  options.history.push_back(disturbed);
  const Comparison c = compare_two(run(1), run(0.94), options);
  EXPECT_EQ(c.history_sessions, 9u);
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::worse);
  EXPECT_TRUE(c.history_why.empty());
}

TEST(RunComparison, BringUpsCannotInterleave) {
  const auto advice = [](const char* workload) {
    StoredRun a = run(1), b = run(1.001);
    for (StoredRun* one : {&a, &b}) one->points[0].id = one->points[0].workload = workload;
    return row(compare_two(a, b), "read_bandwidth").next_step;
  };
  EXPECT_EQ(advice("bringup"),
            "run both bring-ups again on the same nodes; headrace history FOLDER compares 10 sessions or more");
  EXPECT_TRUE(advice("shard_stream").starts_with("interleave them: headrace run --against "));
}

TEST(RunComparison, UndeclaredDifferencesLeaveChangesOpen) {
  StoredRun b = run(0.8);
  b.environment["kernel.release"] = "6.5.0";
  b.environment["host.name"] = "node18";
  const Comparison c = compare_two(run(1), b);
  ASSERT_EQ(c.fingerprint.size(), 2u);
  EXPECT_EQ(c.fingerprint[0].key, "kernel.release");
  EXPECT_FALSE(c.fingerprint[1].matters);
  EXPECT_EQ(row(c, "read_bandwidth").reason, Reason::fingerprint_differs);
  EXPECT_EQ(row(c, "read_bandwidth").next_step, "if this is what you compare, say so: --differs kernel");
  EXPECT_EQ(c.exit_code, 11);
  Options declared;
  declared.declared = {"kernel"};
  EXPECT_EQ(compare_two(run(1), b, declared).exit_code, 10);
}

TEST(RunComparison, DifferencesAreInTheOrderOfSectionsAndKeys) {
  StoredRun a = run(1), b = run(1);
  for (const char* key : {"device.model", "device.scheduler", "cpu.model", "device.size"}) {
    a.environment[key] = "one";
    b.environment[key] = "other";
  }
  const StoredRun* both[] = {&a, &b};
  std::vector<std::string> keys;
  for (const FingerprintDifference& d : fingerprint_differences(both, {})) keys.push_back(d.key);
  const auto of_device = std::find(keys.begin(), keys.end(), "device.model");
  ASSERT_LE(3, keys.end() - of_device);
  EXPECT_EQ(std::vector<std::string>(of_device, of_device + 3),
            (std::vector<std::string>{"device.model", "device.scheduler", "device.size"}));
}

TEST(RunComparison, GatesAreTheNeedsOrTheUsersGlobs) {
  StoredRun a = run(1);
  Judgement tail;
  tail.id = "tail";
  tail.outcome = Outcome::pass;
  tail.point = "shard_stream";
  tail.metric = "shard_stream.latency_p99_ns";
  a.judgements = {tail};
  const Comparison by_need = compare_two(a, run(0.8));
  EXPECT_TRUE(row(by_need, "latency_p99_ns").gated);
  EXPECT_FALSE(row(by_need, "read_bandwidth").gated);
  EXPECT_EQ(by_need.pairs[0].rows[0].metric, "latency_p99_ns");  // gates are reported first
  Options options;
  options.gates = {"*.latency_p99_ns"};
  EXPECT_TRUE(row(compare_two(run(1), run(0.8), options), "latency_p99_ns").gated);
}

TEST(RunComparison, AGateThatMatchesNothingIsAnErrorThatNamesTheNearest) {
  const auto describe = [](const std::vector<std::string>& gates) -> std::string {
    Options options;
    options.gates = gates;
    try {
      compare_two(run(1), run(0.8), options);
    } catch (const UsageError& e) {
      return e.what();
    }
    return "compared";
  };
  const std::string metrics = " (metrics: shard_stream.latency_p99_ns, shard_stream.read_bandwidth)";
  EXPECT_EQ(describe({"nosuch.*"}), "--gate 'nosuch.*' matches no metric" + metrics);
  EXPECT_EQ(describe({"shard_stream.read_bandwith", "*.read_bandwidth"}),
            "--gate 'shard_stream.read_bandwith' matches no metric; did you mean "
            "'shard_stream.read_bandwidth'?" +
                metrics);
  EXPECT_EQ(describe({"shard_steam.read_bandwidth"}),
            "--gate 'shard_steam.read_bandwidth' matches no metric; did you mean "
            "'shard_stream.read_bandwidth'?" +
                metrics);
  EXPECT_EQ(describe({"read_bandwidth"}),
            "--gate 'read_bandwidth' matches no metric; did you mean '*.read_bandwidth'?" + metrics);
  EXPECT_EQ(describe({"*.read_bandwidth"}), "compared");
}

/// A run that also read how many cores and how much memory there are.
StoredRun with_facts(double cores, double memory) {
  StoredRun r = run(1);
  results::StoredPoint p;
  p.id = p.workload = "host_facts";
  p.deterministic = true;
  p.metrics = {metric("cpu_cores", {cores}, Better::higher, "count"),
               metric("memory_available", {memory}, Better::higher, "B"),
               metric("elapsed_s", {0.001 * cores}, Better::neither, "s")};
  p.repetitions = 1;
  r.points.push_back(p);
  return r;
}

TEST(RunComparison, FactsAreComparedExactly) {
  Options options = with_history();
  for (StoredRun& past : options.history) past.points.push_back(with_facts(64, 8e9).points[1]);
  const Comparison same = compare_two(with_facts(64, 8e9), with_facts(64, 8.01e9), options);
  EXPECT_EQ(row(same, "cpu_cores").change, Change::same);
  EXPECT_EQ(row(same, "memory_available").change, Change::small);  // it changes by the minute
  EXPECT_EQ(same.exit_code, 0);
  EXPECT_THROW(row(same, "elapsed_s"), std::runtime_error);  // of reading them: says nothing
  for (const double cores : {32.0, 63.0}) {
    const Comparison fewer = compare_two(with_facts(64, 8e9), with_facts(cores, 8e9), options);
    EXPECT_EQ(row(fewer, "cpu_cores").change, Change::worse) << cores;
    EXPECT_EQ(fewer.exit_code, 10) << cores;
    EXPECT_NE(row(fewer, "cpu_cores").explanation.find("against A's 64"), std::string::npos);
  }
  EXPECT_EQ(row(compare_two(with_facts(64, 8e9), with_facts(64, 4e9)), "memory_available").change, Change::worse);
  EXPECT_EQ(row(compare_two(with_facts(32, 0), with_facts(64, 0)), "cpu_cores").change, Change::better);
  EXPECT_EQ(row(compare_two(with_facts(32, 0), with_facts(64, 0)), "memory_available").change, Change::same);
  EXPECT_EQ(row(compare_two(with_facts(1, 0), with_facts(1, 5)), "memory_available").change, Change::better);
  // What else differs cannot be the cause of a fact.
  StoredRun other = with_facts(32, 8e9);
  other.environment["kernel.release"] = "6.5.0";
  EXPECT_EQ(row(compare_two(with_facts(64, 8e9), other), "cpu_cores").change, Change::worse);
}

TEST(RunComparison, GatesOnFactsDecide) {
  Options options;
  options.gates = {"host_facts.cpu_cores"};
  EXPECT_EQ(compare_two(with_facts(64, 8e9), with_facts(64, 8e9), options).exit_code, 0);
  EXPECT_EQ(compare_two(with_facts(64, 8e9), with_facts(32, 8e9), options).exit_code, 10);
  // On one side alone it decides nothing, and nothing is green for that.
  EXPECT_EQ(compare_two(with_facts(64, 8e9), run(1), options).exit_code, 12);
  EXPECT_EQ(compare_two(run(1), with_facts(64, 8e9), options).exit_code, 12);
}

TEST(RunComparison, WithoutAnyGateNothingIsGreen) {
  StoredRun a = run(1), b = run(1);
  Judgement tail;
  tail.id = "tail";
  tail.outcome = Outcome::pass;
  tail.point = "shard_stream";
  tail.metric = "shard_stream.of_old";
  a.judgements = {tail};
  EXPECT_EQ(compare_two(a, b).exit_code, 12);
  EXPECT_EQ(compare_two(a, b).pairs[0].summary.about_gates, "no gate was measured on both sides");
}

/// Of 40 metrics half differ from chance alone; the other half is disturbed and differs much.
TEST(RunComparison, UncallableRowsMakeNoOtherAnOutlier) {
  StoredRun a = run(1), b = run(1);
  a.points.clear();
  b.points.clear();
  for (int i = 0; i < 40; ++i) {
    results::StoredPoint p = run(1).points[0], q = p;
    p.id = q.id = p.workload = q.workload = "w" + std::to_string(i);
    p.metrics.resize(1);
    q.metrics.resize(1);
    for (std::size_t n = 0; n < 6; ++n) {
      const double wobble = 0.004 * static_cast<double>((n * 7 + static_cast<std::size_t>(i)) % 5);
      p.metrics[0].values[n] *= 1 + wobble;
      q.metrics[0].values[n] *= (i < 20 ? 0.925 - 0.0001 * i : 0.5) * (1 + wobble);
    }
    for (results::StoredPoint* point : {&p, &q})
      point->metrics[0].median = statistics::median(point->metrics[0].values);
    if (i >= 20) q.disturbed_share = 1;
    a.points.push_back(p);
    b.points.push_back(q);
  }
  // Sessions that lie so far apart that a p of each of the first twenty lies near 4 %.
  Options options;
  options.gates = {"w39.*"};
  for (int i = 0; i < 30; ++i) {
    StoredRun past = a;
    for (results::StoredPoint& p : past.points) {
      for (double& v : p.metrics[0].values) v *= 1 + 0.026 * (i % 2 == 0 ? 1 : -1);
      p.metrics[0].median = statistics::median(p.metrics[0].values);
    }
    options.history.push_back(past);
  }
  const Comparison c = compare_two(a, b, options);
  unsigned callable = 0;
  for (const Row& r : c.pairs[0].rows) {
    callable += r.callable;
    if (!r.callable) {
      EXPECT_FALSE(r.significant && !r.gated);
    } else {
      EXPECT_GT(r.estimate->p, 0.04);
      EXPECT_LT(r.estimate->p, 0.06);
    }
  }
  EXPECT_EQ(callable, 20u);
  EXPECT_TRUE(std::none_of(c.pairs[0].rows.begin(), c.pairs[0].rows.end(),
                           [](const Row& r) { return r.callable && r.significant && r.estimate->p > 0.05; }));
}

TEST(RunComparison, MetricsThatSayTheSameAreOneFinding) {
  const auto both = [](double scale) {
    StoredRun r = run(scale);
    auto& metrics = r.points[0].metrics;
    const std::vector<double> rate = metrics[0].values;
    std::vector<double> files, seconds, other;
    for (std::size_t i = 0; i < rate.size(); ++i) {
      files.push_back(rate[i] / 130e3);
      seconds.push_back(5e9 / rate[i]);
      other.push_back(rate[i] * (1 + 0.001 * static_cast<double>(i % 2)));
    }
    metrics.push_back(metric("file_rate", files, Better::higher, "1/s"));
    metrics.push_back(metric("elapsed_s", seconds, Better::neither, "s"));
    metrics.push_back(metric("other_rate", other, Better::higher, "1/s"));
    return r;
  };
  const Comparison c = compare_two(both(1), both(0.8));
  EXPECT_EQ(row(c, "read_bandwidth").says_same_as, "");
  EXPECT_EQ(row(c, "file_rate").says_same_as, "read_bandwidth");
  EXPECT_EQ(row(c, "elapsed_s").says_same_as, "read_bandwidth");
  EXPECT_EQ(row(c, "other_rate").says_same_as, "");
  const Pair& pair = c.pairs[0];
  EXPECT_EQ(pair.rows.size(), 5u);
  EXPECT_EQ(pair.summary.findings, 3u);
  EXPECT_EQ(pair.summary.worse, 3u);
  EXPECT_EQ(pair.rows[1].says_same_as, "read_bandwidth");  // behind its finding
  EXPECT_EQ(pair.summary.about_gates, "1 of 1 gate is worse: read_bandwidth of shard_stream; 2 worse are no gates");
  // A tail that follows a rate exactly has other limits, and may be called something else.
  const auto with_tail = [&](double scale) {
    StoredRun r = both(scale);
    for (results::StoredMetric& m : r.points[0].metrics)
      if (m.name == "elapsed_s") m.name = "latency_max_ns";
    return r;
  };
  EXPECT_EQ(row(compare_two(with_tail(1), with_tail(0.8)), "latency_max_ns").says_same_as, "");
  // Rates of different sizes are not the same fact on both sides.
  StoredRun larger = both(0.8);
  larger.points[0].metrics[2] = metric("file_rate", {600, 601, 599, 600.5, 602, 600}, Better::higher, "1/s");
  EXPECT_EQ(row(compare_two(both(1), larger), "file_rate").says_same_as, "");
}

TEST(RunComparison, AGreenWordSaysThatItIsAboutGates) {
  StoredRun b = run(1.001);
  b.points[0].metrics[1] = metric("latency_p99_ns", {4e6, 4.01e6, 4.02e6, 4e6, 3.99e6, 4e6}, Better::lower, "ns");
  const Comparison c = compare_two(run(1), b, with_history());
  EXPECT_EQ(c.word, Outcome::pass);
  EXPECT_EQ(c.pairs[0].summary.about_gates, "no gate is worse; 1 worse is no gate");
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
  const Comparison c = compare_two(run(1), b, options);
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::worse);
  ASSERT_EQ(c.pairs[0].parameters.size(), 1u);
  EXPECT_EQ(c.pairs[0].parameters[0].name, "engine");
  const auto json = nlohmann::json::parse(comparison_json(c));
  EXPECT_EQ(json["pairs"][0]["compared"], nlohmann::json({"engine: posix -> io_uring"}));
}

TEST(RunComparison, TwoPointsOfOneRunAreNotMixed) {
  StoredRun a = run(1), b = run(1);
  a.points.push_back(run(0.5).points[0]);
  a.points[1].id += "/other";
  a.points[1].params["engine"] = "io_uring";
  Options options;
  options.across = {"engine"};
  try {
    compare_two(a, b, options);
    FAIL();
  } catch (const UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("A has it more than once: engine posix / io_uring"), std::string::npos)
        << e.what();
  }
}

/// The whole comparison of 200 pairs of the same system: sessions 2 % apart, repetitions 1.5 %.
TEST(RunComparison, TwoHundredStoredPairsOfTheSameAreSeldomCalledChanged) {
  statistics::Draws draws(5);
  const auto normal = [&] { return std::sqrt(-2 * std::log(1 - draws.share())) * std::cos(2 * M_PI * draws.share()); };
  const auto session = [&](double speed) {
    StoredRun r = run(1);
    const double shift = std::exp(0.02 * normal());
    r.points[0].metrics.resize(1);
    auto& rate = r.points[0].metrics[0];
    rate.values.resize(5);
    for (double& v : rate.values) v = 1e8 * speed * shift * std::exp(0.015 * normal());
    rate.median = statistics::median(rate.values);
    return r;
  };
  constexpr int kPairs = 200;
  for (const unsigned past : {0u, 8u}) {
    std::map<std::string_view, int> same, loss;
    for (int i = 0; i < kPairs; ++i) {
      Options options;
      for (unsigned n = 0; n < past; ++n) options.history.push_back(session(1));
      const StoredRun a = session(1);
      const Comparison null = compare_two(a, session(1), options);
      ++same[null.pairs[0].summary.better > 0 ? "BETTER" : to_string(null.word)];
      ++loss[to_string(compare_two(a, session(0.8), options).word)];
    }
    std::printf(
        "%u past runs: of %d pairs of the same %d FAIL, %d better, %d PASS, %d open; of as "
        "many 20 %% slower %d FAIL\n",
        past, kPairs, same["FAIL"], same["BETTER"], same["PASS"], same["INCONCLUSIVE"], loss["FAIL"]);
    EXPECT_LE(same["FAIL"] + same["BETTER"], kPairs / 50);
    EXPECT_GE(loss["FAIL"], kPairs * 9 / 10);
    EXPECT_EQ(loss["PASS"], 0);
  }
}

TEST(RunComparison, DisturbedRepetitionsAreNoEvidence) {
  StoredRun b = run(1);
  results::StoredPoint& p = b.points[0];
  p.metrics.resize(1);
  p.metrics[0].values[5] *= 0.3;  // a neighbour
  for (unsigned i = 0; i < 6; ++i) {
    results::StoredRepetition& r = p.each.emplace_back();
    r.index = i;
    r.counted = true;
    r.disturbed = i == 5;
    r.metrics["read_bandwidth"] = p.metrics[0].values[i];
  }
  p.disturbed_share = 1.0 / 6;
  const Comparison c = compare_two(run(1), b, with_history());
  EXPECT_EQ(row(c, "read_bandwidth").other.values.size(), 5u);
  EXPECT_EQ(row(c, "read_bandwidth").change, Change::same);
}

TEST(RunComparison, IncomparableMetricsAreNamed) {
  StoredRun a = run(1), b = run(1);
  a.points[0].metrics.push_back(metric("lonely", {1, 2}));
  a.points[0].metrics.push_back(metric("other_unit", {1, 2}));
  b.points[0].metrics.push_back(metric("other_unit", {1, 2}, Better::higher, "MB/s"));
  const auto left = compare_two(a, b).pairs[0].not_compared;
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0].why, "only in A");
  EXPECT_EQ(left[1].why, "other units: 'B/s' and 'MB/s'");
  Options options;
  options.gates = {"*.lonely"};
  EXPECT_EQ(compare_two(a, b, options).exit_code, 12);
  EXPECT_EQ(compare_two(a, b, options).word, Outcome::incomplete);
}

/// A run whose rates are these.
StoredRun with_rates(const std::vector<double>& rates) {
  StoredRun r = run(1);
  r.points[0].metrics = {metric("read_bandwidth", rates)};
  return r;
}

TEST(RunComparison, ZeroIsAValue) {
  const std::vector<double> usual{9.9e7, 1e8, 1.01e8, 9.95e7, 1.005e8, 1e8, 1e8, 1e8, 1e8, 1e8};
  const auto with_zeros = [&](std::size_t count) {
    std::vector<double> rates = usual;
    std::fill_n(rates.begin(), count, 0.0);
    return rates;
  };
  const auto word = [](const std::vector<double>& a, const std::vector<double>& b) {
    const Comparison c = compare_two(with_rates(a), with_rates(b));
    return std::tuple(row(c, "read_bandwidth").change, row(c, "read_bandwidth").reason, c.exit_code);
  };
  using statistics::Change;
  EXPECT_EQ(word(usual, with_zeros(10)), std::tuple(Change::worse, Reason::none, 10));
  EXPECT_EQ(word(with_zeros(10), usual), std::tuple(Change::better, Reason::none, 0));
  EXPECT_EQ(word(with_zeros(10), with_zeros(10)), std::tuple(Change::same, Reason::none, 0));
  EXPECT_EQ(word(usual, with_zeros(9)), std::tuple(Change::worse, Reason::none, 10));
  EXPECT_EQ(word(usual, with_zeros(3)), std::tuple(Change::inconclusive, Reason::two_humped, 11));
  EXPECT_EQ(word(usual, with_zeros(1)), std::tuple(Change::inconclusive, Reason::straddles, 11));
  EXPECT_EQ(word({1e8, 1.01e8}, {0, 0}), std::tuple(Change::worse, Reason::none, 10));
  EXPECT_EQ(word({1e8, 1.01e8}, {0}), std::tuple(Change::inconclusive, Reason::few_reps, 11));
  EXPECT_EQ(word({1e8, 1e8}, {0, 1e8}), std::tuple(Change::inconclusive, Reason::few_reps, 11));
  const Comparison c = compare_two(with_rates(usual), with_rates(with_zeros(10)));
  EXPECT_NE(row(c, "read_bandwidth").explanation.find("worse: one side gave nothing"), std::string::npos)
      << row(c, "read_bandwidth").explanation;
  comparison_json(c);
  comparison_csv(c);
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

/// Small files whose bytes are cold; `warm_names` as CacheProof has it.
StoredRun of_small_files(double scale, const char* warm_names, const char* cache = "cold") {
  StoredRun r = run(scale);
  results::StoredPoint& p = r.points[0];
  p.id = p.workload = "small_file_read";
  p.cache = p.params["cache"] = cache;
  p.metrics[0].name = "sample_rate";
  p.metrics[1] = metric("open_rate", p.metrics[0].values, Better::higher, "1/s");
  p.each.resize(p.repetitions);
  for (results::StoredRepetition& one : p.each) one.warm_names = warm_names;
  return r;
}

TEST(RunComparison, NamesInMemoryOnOneSideAreNoChangeOfTheStorage) {
  const char *dropped = "", *stay = "names and inodes may be in memory: only root can drop them";
  for (const auto& [base, other] : {std::pair(dropped, stay), std::pair(stay, dropped)}) {
    const Comparison c = compare_two(of_small_files(1, base), of_small_files(0.5, other));
    EXPECT_EQ(c.word, Outcome::inconclusive);
    for (const char* name : {"sample_rate", "open_rate"}) {
      const Row& r = row(c, name);
      EXPECT_EQ(r.change, Change::inconclusive) << name;
      EXPECT_EQ(r.reason, Reason::cache_unproven) << name;
      EXPECT_NE(r.explanation.find("names were dropped from memory on one side only"), std::string::npos)
          << r.explanation;
      EXPECT_NE(r.next_step.find("as root"), std::string::npos) << r.next_step;
    }
  }
  for (const char* both : {dropped, stay}) {  // alike on both sides
    const Comparison c = compare_two(of_small_files(1, both), of_small_files(0.5, both));
    EXPECT_EQ(c.word, Outcome::fail);
    EXPECT_EQ(row(c, "open_rate").change, Change::worse);
  }
  EXPECT_EQ(compare_two(of_small_files(1, dropped, "warm"), of_small_files(0.5, stay, "warm")).word, Outcome::fail);
  Comparison mixed = compare({{"A", "a", {of_small_files(1, dropped), of_small_files(1, stay)}, {}},
                              {"B", "b", {of_small_files(0.5, dropped), of_small_files(0.5, stay)}, {}}},
                             {});
  EXPECT_EQ(row(mixed, "open_rate").reason, Reason::cache_unproven);
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
  EXPECT_NEAR(row(six, "read_bandwidth").base.typical, 1e8 * std::cbrt(1.05 * 1.1),
              1);  // of blocks: the geometric mean
  EXPECT_EQ(six.exit_code, 10);
  EXPECT_EQ(compare(sides(6, 1), {}).exit_code, 0);
  // Between the looks only the first six decide, after the last look only the first twelve.
  for (const auto& [blocks, look] : {std::pair{8u, 6u}, {14u, 12u}}) {
    std::vector<Side> more = sides(blocks, 1);
    for (std::size_t i = look; i < blocks; ++i) more[1].runs[i] = run(0.2);
    const Comparison judged = compare(more, {});
    EXPECT_EQ(judged.design.look, look);
    EXPECT_EQ(judged.exit_code, 0);
    const Row& r = row(judged, "read_bandwidth");
    EXPECT_NEAR(r.estimate->ratio, 1.001, 1e-5);
    EXPECT_EQ(r.blocks.size(), blocks);
    EXPECT_FALSE(r.blocks.back().judged);
    EXPECT_NE(judged.design.sentence.find("the first " + std::to_string(look) + " decide"), std::string::npos);
  }
  // A look needs every one of its blocks.
  std::vector<Side> hole = sides(6, 0.9);
  hole[1].runs[2].points[0].metrics.erase(hole[1].runs[2].points[0].metrics.begin());
  EXPECT_EQ(row(compare(hole, {}), "read_bandwidth").reason, Reason::few_reps);
}

TEST(RunComparison, TheChangeIsThatOfTheValuesShown) {
  std::vector<Side> both{{"A", "a", {}, {}}, {"B", "b", {}, {}}};
  for (unsigned block = 1; block <= 6; ++block) {  // medians of all turns lie elsewhere
    both[0].runs.push_back(run(block < 4 ? 1 : 3));
    both[1].runs.push_back(run(block < 3 ? 0.9 : 2.7 * (block == 3 ? 0.34 : 1)));
    for (Side& side : both) side.blocks.push_back(block);
  }
  const Row r = row(compare(both, {}), "read_bandwidth");
  EXPECT_NEAR(r.other.typical / r.base.typical, r.estimate->ratio, 1e-9);
  const Row stored = row(compare_two(run(1), run(0.9)), "read_bandwidth");
  EXPECT_NEAR(stored.other.typical / stored.base.typical, stored.estimate->ratio, 1e-12);
}

TEST(RunComparison, DisturbanceOnBothSidesOfBlocksIsNoDoubt) {
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

TEST(RunComparison, FilesHoldTheDecisions) {
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
  write_comparison(c, MarkedFolder::make(folder.path(), "comparison"));
  EXPECT_EQ(folder.read("comparison.json"), comparison_json(c));
}

}  // namespace
}  // namespace headrace::comparison::run_comparison_test
