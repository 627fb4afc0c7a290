// What becomes of the values of repetitions before they are judged.
#include "harness/engine/explain/evidence.h"

#include <gtest/gtest.h>

#include "harness/judge/verdict/answers.h"
#include "harness/judge/verdict/record.h"

namespace headrace::evidence_test {
namespace {

Repetition repetition(double rate, double seconds, bool counted) {
  Repetition r;
  r.counted = counted;
  r.metrics = {{"read_bandwidth", rate, seconds}};
  return r;
}

TEST(Evidence, WhatWasTakenAgainIsInNoMetric) {
  const std::vector<MetricInfo> catalogue{{.name = "read_bandwidth", .unit = "B/s", .description = ""}};
  PointResult result;
  result.repetitions = {repetition(100, 1, true), repetition(1, 9, false), repetition(200, 3, true)};
  engine::summarize_metrics(catalogue, result);
  ASSERT_EQ(result.metrics.size(), 1u);
  EXPECT_EQ(result.metrics[0].values, (std::vector<double>{100, 200}));
  EXPECT_EQ(result.metrics[0].median, 150);
  EXPECT_EQ(result.metrics[0].mean_over_time, 175);  // 700 in 4 s
}

/// A point that failed is reported by the need that it was to answer, or counts by itself.
TEST(Evidence, APointThatFailedBesideAnErrorCountsToo) {
  std::vector<judging::RecordedPoint> points(2);
  points[0].id = "p0";
  points[1].id = "p1";
  points[0].status = points[1].status = PointStatus::error;
  Judgement j;
  j.outcome = Outcome::error;
  j.point = "p0";
  EXPECT_EQ(judging::summarize_run(std::vector{j}, points, 0).error, 2u);
}

/// Shares are of the repetitions that went through.
TEST(Evidence, AnUnprovenCacheStateIsOfWhatCounts) {
  judging::RecordedPoint point;
  for (const bool proven : {true, true, true, false}) {
    judging::RecordedRepetition r;
    r.ok = true;
    r.is_evidence = proven;
    point.repetitions.push_back(r);
  }
  EXPECT_EQ(point.unproven_share(), 0.25);
  point.repetitions.back().ok = false;
  EXPECT_EQ(point.unproven_share(), 0);
  point.repetitions.back() = point.repetitions.front();
  point.repetitions.back().is_evidence = point.repetitions.back().counted = false;
  EXPECT_EQ(point.unproven_share(), 0);
}

}  // namespace
}  // namespace headrace::evidence_test
