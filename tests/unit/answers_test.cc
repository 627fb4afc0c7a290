// Which of several points answers a question.
#include "harness/verdict/answers.h"

#include <gtest/gtest.h>

namespace headrace::judging {
namespace {

RecordedPoint point(const std::string& id, const std::vector<double>& rates) {
  RecordedPoint p;
  p.id = id;
  p.workload = "small_file_read";
  p.status = PointStatus::ok;
  p.params = {{"file_size", std::uint64_t{130000}}, {"workers", std::uint64_t{16}}, {"engine", std::string("posix")}};
  p.looks = statistics::plan_looks({5});
  for (const double rate : rates) {
    RecordedRepetition r;
    r.ok = true;
    r.elapsed_s = 1;
    r.metrics = {{"sample_rate", rate}};
    p.repetitions.push_back(r);
  }
  return p;
}

/// Of points that do what the job does equally well, the one that typically gave less answers, as a sizing of several
/// sessions chooses; without a job's way the one that gave the most over time.
TEST(Answers, OfEquallyNearPointsTheMedianTellsAndElseTheMeanOverTime) {
  const std::vector<RecordedPoint> points{point("stalls", {100, 100, 100, 100, 40}),
                                          point("even", {95, 95, 95, 95, 95})};
  Question q;
  q.blank.id = "ingest.sample_rate";
  q.blank.unit = "1/s";
  q.blank.need = 10;
  q.measured_by = {"small_file_read.sample_rate"};
  q.workload = "small_file_read";
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).point, "even");  // 95/s of 88/s
  requirements::Way way;
  way.layout = "files";
  way.file_size = way.sample_size = 130e3;
  way.workers = 16;
  q.way = way;
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).point, "even");  // 95/s, and typically the other gives 100/s
  const std::vector<RecordedPoint> other_way_round{point("stalls", {100, 100, 100, 100, 40}),
                                                   point("even", {90, 90, 90, 90, 90}),
                                                   point("rare", {89, 89, 89, 300, 300})};
  EXPECT_EQ(answer_all(std::vector{q}, other_way_round).at(0).point, "rare");
}

}  // namespace
}  // namespace headrace::judging
