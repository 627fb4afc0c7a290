#include "harness/plan/benchmark_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "harness/base/diagnostics.h"
#include "harness/engine/rules_kept.h"

namespace headrace {
namespace {

using Kept = std::map<std::string, bool>;

Kept kept(const std::vector<RuleCheck>& checks) {
  Kept all;
  for (const RuleCheck& c : checks) all[c.rule] = c.kept;
  return all;
}

requirements::Job resnet() {
  requirements::Job job;
  job.step.time = 0.224;
  job.step.micro_batch = 400;
  job.step.target_utilization = 0.9;
  job.dataset.sample_size = 114660.07;
  return job;
}
constexpr RehearsedAs kFull{.batch = 400, .step_s = 0.224, .data_bytes = 500e9, .host_memory = 100e9};

TEST(BenchmarkRulesTest, EachIsKeptByWhatItAsksForAndByNothingLess) {
  EXPECT_EQ(kept(check_planned(resnet(), kFull)), (Kept{{"workload", true}, {"batch", true}, {"data_set", true}}));
  RehearsedAs smaller = kFull;
  smaller.data_bytes = 499e9;
  smaller.batch = 399;
  EXPECT_EQ(kept(check_planned(resnet(), smaller)), (Kept{{"workload", true}, {"batch", false}, {"data_set", false}}));
  smaller = kFull;
  smaller.host_memory = 0;  // not known
  smaller.step_s = 0.112;
  EXPECT_EQ(kept(check_planned(resnet(), smaller)), (Kept{{"workload", true}, {"batch", false}, {"data_set", false}}));
  requirements::Job other = resnet();
  other.step.target_utilization = 0.7;
  EXPECT_FALSE(kept(check_planned(other, kFull))["workload"]) << "an easier target is not the benchmark's";
  other = resnet();
  other.dataset.sample_size = 100e3;
  EXPECT_FALSE(kept(check_planned(other, kFull))["workload"]);
}

TEST(BenchmarkRulesTest, OtherNamesAreRefused) {
  EXPECT_NO_THROW(check_rules_name("mlperf-v2"));
  EXPECT_THROW(check_rules_name("mlperf-v3"), UsageError);
}

MetricSummary metric(const char* name, std::vector<double> values) {
  MetricSummary m;
  m.name = name;
  m.values = std::move(values);
  return m;
}

PointResult measured(std::vector<double> utilization, std::vector<double> steps, unsigned cold) {
  PointResult point;
  for (unsigned i = 0; i < utilization.size(); ++i) {
    Repetition r;
    r.cache.required = true;
    r.cache.proven = i < cold;
    point.repetitions.push_back(r);
  }
  point.metrics.push_back(metric("steps", std::move(steps)));
  point.metrics.push_back(metric("accelerator_utilization", std::move(utilization)));
  return point;
}

TEST(BenchmarkRulesTest, WhatWasMeasuredKeepsOrBreaksEach) {
  using engine::check_measured;
  // The first step, which no metric counts, is one of the 500.
  EXPECT_EQ(kept(check_measured(measured({.91, .92, .9, .91, .9}, {499, 600, 499, 499, 499}, 5), 0.9)),
            (Kept{{"steps", true}, {"runs", true}, {"caches", true}, {"utilization", true}, {"replicated", true}}));
  EXPECT_EQ(
      kept(check_measured(measured({.99, .8, .9, .89}, {499, 498, 499, 499}, 3), 0.9)),
      (Kept{{"steps", false}, {"runs", false}, {"caches", false}, {"utilization", false}, {"replicated", false}}));
  const PointResult nothing;
  EXPECT_EQ(
      kept(check_measured(nothing, 0.9)),
      (Kept{{"steps", false}, {"runs", false}, {"caches", false}, {"utilization", false}, {"replicated", false}}));
}

}  // namespace
}  // namespace headrace
