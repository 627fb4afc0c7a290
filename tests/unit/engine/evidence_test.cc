// What becomes of the values of repetitions before they are judged.
#include "harness/engine/explain/evidence.h"

#include <gtest/gtest.h>

#include "harness/engine/explain/measured_point.h"
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

TEST(Evidence, RepeatedRepetitionsAreInNoMetric) {
  const std::vector<MetricInfo> catalogue{{.name = "read_bandwidth", .unit = "B/s", .description = ""}};
  PointResult result;
  result.repetitions = {repetition(100, 1, true), repetition(1, 9, false), repetition(200, 3, true)};
  engine::summarize_metrics(catalogue, result);
  ASSERT_EQ(result.metrics.size(), 1u);
  EXPECT_EQ(result.metrics[0].values, (std::vector<double>{100, 200}));
  EXPECT_EQ(result.metrics[0].median, 150);
  EXPECT_EQ(result.metrics[0].mean_over_time, 175);  // 700 in 4 s
}

/// Of three that are asked for: "d" was disturbed, "f" failed, "F" both, "." neither.
TEST(Evidence, DisturbedRepetitionsCountOnlyWhereOthersAreTooFew) {
  for (const auto& [taken, counting] : {std::pair("...", "yyy"),
                                        {"....", "yyyy"},
                                        {".d..", "ynyy"},
                                        {"d.d.d", "yynyn"},
                                        {"ddd", "yyy"},
                                        {"dddd", "yyyn"},
                                        {"Fd.f.d", "nyynyn"},
                                        {"", ""}}) {
    std::vector<Repetition> all;
    for (const char* c = taken; *c != 0; ++c) {
      Repetition& r = all.emplace_back();
      r.status = *c == 'f' || *c == 'F' ? RepetitionStatus::error : RepetitionStatus::ok;
      r.disturbance.disturbed = *c == 'd' || *c == 'F';
    }
    engine::count_up_to(3, all);
    std::string counts;
    for (const Repetition& r : all) counts += r.counted ? 'y' : 'n';
    EXPECT_EQ(counts, counting) << taken;
    EXPECT_EQ(engine::counted(all), static_cast<unsigned>(std::count(counts.begin(), counts.end(), 'y')));
  }
}

/// A point that failed is reported by the need that it was to answer, or counts by itself.
TEST(Evidence, AFailedPointNextToAnErrorCountsToo) {
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
TEST(Evidence, AnUnprovenCacheStateIsThatOfCountingRepetitions) {
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
