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

/// However well the state of another way was proven, and however badly that of the job's own.
TEST(Answers, TheJobsOwnWayDecidesThoughItsStateWasNotProven) {
  std::vector<RecordedPoint> points{point("more-workers", {100, 100, 100, 100, 100}),
                                    point("job", {50, 50, 50, 50, 50})};
  points[0].params["workers"] = std::uint64_t{32};
  points[1].repetitions[3].is_evidence = false;
  Question q;
  q.blank.id = "ingest.sample_rate";
  q.blank.unit = "1/s";
  q.blank.need = 70;
  q.measured_by = {"small_file_read.sample_rate"};
  q.workload = "small_file_read";
  q.way = requirements::Way{};
  q.way->layout = "files";
  q.way->file_size = q.way->sample_size = 130e3;
  q.way->workers = 16;
  const Judgement j = answer_all(std::vector{q}, points).at(0);
  EXPECT_EQ(j.point, "job");
  EXPECT_EQ(j.outcome, Outcome::inconclusive);
  EXPECT_EQ(j.reason, Reason::cache_unproven);
  points.pop_back();  // nobody measured the job's way: what was measured with more at work misses nothing
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).reason, Reason::other_settings);
}

/// A pair that is slow in one schedule is slow, however well others meet in another; of other settings the best is taken.
TEST(Answers, TheWorstScheduleAnswersAndOfOtherSettingsTheBest) {
  const auto stream = [](const std::string& id, const std::string& schedule, double rate) {
    RecordedPoint p = point(id, std::vector<double>(5, rate));
    p.workload = "tcp_stream";
    p.params = {{"schedule", schedule}};
    for (RecordedRepetition& r : p.repetitions) r.metrics = {{"nic_bandwidth", rate}};
    return p;
  };
  const std::vector<RecordedPoint> points{stream("one-stream", "all_pairs", 5e6), stream("pairs", "all_pairs", 8e6),
                                          stream("bisection", "bisection", 24e6)};
  Question q;
  q.blank.id = "network.nic_bandwidth";
  q.blank.unit = "B/s";
  q.blank.need = 8.4e6;
  q.measured_by = {"tcp_stream.nic_bandwidth"};
  q.workload = "tcp_stream";
  EXPECT_EQ(answer_all(std::vector{q}, points).at(0).point, "bisection");
  q.worst_over = "schedule";
  const Judgement j = answer_all(std::vector{q}, points).at(0);
  EXPECT_EQ(j.point, "pairs");
  EXPECT_EQ(j.outcome, Outcome::fail);
}

}  // namespace
}  // namespace headrace::judging
