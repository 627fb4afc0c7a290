// Counts of which one occurrence is a fault: what is said of them whatever became of the repetitions.
#include "harness/judge/verdict/part_faults.h"

#include <gtest/gtest.h>

#include <functional>

#include "harness/judge/verdict/answers.h"
#include "harness/judge/verdict/slow_parts.h"

namespace headrace::judging::part_faults_test {
namespace {

/// Five sound repetitions of a GPU burn.
RecordedPoint burn() {
  RecordedPoint p;
  p.id = "gpu_burn";
  p.workload = "gpu_burn";
  p.status = PointStatus::ok;
  p.looks = statistics::plan_looks({5});
  for (int i = 0; i < 5; ++i) {
    RecordedRepetition r;
    r.elapsed_s = 1;
    r.metrics = {{"wrong_elements", 0}, {"wrong_elements_gpu0", 0}, {"wrong_elements_gpu3", 0}, {"flop_rate", 1e15}};
    p.repetitions.push_back(r);
  }
  return p;
}

void go_wrong(RecordedRepetition& r) { r.metrics["wrong_elements"] = r.metrics["wrong_elements_gpu3"] = 13; }

Question at_most_none() {
  Question q;
  q.blank.id = "gpu.wrong_elements";
  q.blank.scope = "node";
  q.blank.unit = "count";
  q.blank.higher_is_better = false;
  q.measured_by = {"gpu_burn.wrong_elements"};
  q.workload = "gpu_burn";
  return q;
}

struct Case {
  const char* what;
  std::function<void(RecordedPoint&)> makes;
  Outcome outcome;
};

TEST(PartFaults, ACountIsJudgedAbsolutely) {
  const Case cases[] = {
      {"sound", [](auto&) {}, Outcome::pass},
      {"one repetition of five", [](auto& p) { go_wrong(p.repetitions[2]); }, Outcome::fail},
      {"disturbed",
       [](auto& p) {
         for (auto& r : p.repetitions) r.disturbed = true;
         go_wrong(p.repetitions[4]);
       },
       Outcome::fail},
      {"taken again as it was disturbed",
       [](auto& p) {
         p.repetitions[0].counted = false;
         p.repetitions[0].disturbed = true;
         go_wrong(p.repetitions[0]);
       },
       Outcome::fail},
      {"a data check that failed afterwards",
       [](auto& p) {
         go_wrong(p.repetitions[1]);
         p.status = PointStatus::error;
       },
       Outcome::fail},
      {"a data check alone",
       [](auto& p) {
         p.faults = {{"gpu3", "wrong_elements", 1, "3 and not 2"}};
         p.status = PointStatus::error;
       },
       Outcome::fail},
      {"measured again and sound then",
       [](auto& p) {
         go_wrong(p.repetitions[1]);
         p.measured_again = true;
         for (int i = 0; i < 5; ++i) {
           p.repetitions.push_back(burn().repetitions[0]);
           p.repetitions.back().look = 1;
           p.repetitions.back().counted = false;
         }
       },
       Outcome::fail},
      {"two repetitions, which no bound needs", [](auto& p) { p.repetitions.resize(2); }, Outcome::pass},
      {"an error, and nothing wrong until then", [](auto& p) { p.status = PointStatus::error; }, Outcome::error},
      {"never measured",
       [](auto& p) {
         p.repetitions.clear();
         p.status = PointStatus::skipped;
       },
       Outcome::skipped},
  };
  for (const Case& one : cases) {
    RecordedPoint point = burn();
    one.makes(point);
    const Judgement j = answer_all(std::vector{at_most_none()}, std::vector{point}).at(0);
    EXPECT_EQ(j.outcome, one.outcome) << one.what << ": " << j.explanation;
    if (j.outcome != Outcome::fail) continue;
    EXPECT_NE(j.explanation.find("gpu3"), std::string::npos) << one.what << ": " << j.explanation;
    EXPECT_TRUE(is_count(j));
    EXPECT_NE(j.next_step, "");
  }
}

TEST(PartFaults, ThePointWithACountAnswers) {
  std::vector<RecordedPoint> points{burn(), burn(), burn()};
  points[1].id = "gpu_burn/label:hot";
  go_wrong(points[1].repetitions[3]);
  const Judgement j = answer_all(std::vector{at_most_none()}, points).at(0);
  EXPECT_EQ(j.point, "gpu_burn/label:hot");
  EXPECT_EQ(j.outcome, Outcome::fail);
  EXPECT_EQ(j.measured, 13);
}

TEST(PartFaults, EachBrokenPartIsNamedOnceAndWithoutBeingAskedFor) {
  std::vector<RecordedPoint> points{burn(), burn()};
  points[0].faults = {{"gpu3", "ecc_uncorrected", 12, "12 uncorrected memory errors"}, {"gpu1", "lost", 1, "lost"}};
  points[1].faults = {{"gpu3", "ecc_uncorrected", 12, "12 uncorrected memory errors"},
                      {"gpu3", "fatal_xids", 1, "Xid 79"},
                      {"gpu2", "error_count", 4, "4 packets were sent again"}};  // of which a need has to say how many
  const std::vector<Judgement> all = judge_run({}, points);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].scope, "gpu3");
  EXPECT_EQ(all[0].explanation, "gpu3 is broken: 12 uncorrected memory errors; Xid 79.");
  EXPECT_EQ(all[1].scope, "gpu1");
  EXPECT_TRUE(of_a_part(all[0]) && !of_pairs(all[0]) && is_count(all[0]));
  const Summary summary = summarize_run(all, points, 0);
  EXPECT_EQ(summary.exit_code, 10);
}

TEST(PartFaults, AFailedPointDoesNotHideAFault) {
  RecordedPoint point = burn();
  point.status = PointStatus::error;
  point.repetitions.clear();
  point.faults = {{"gpu3", "lost", 1, "the GPU has fallen off the bus"}};
  const std::vector<Judgement> all = judge_run({}, std::vector{point});
  EXPECT_EQ(summarize_run(all, std::vector{point}, 0).exit_code, 10);
}

TEST(PartFaults, EveryAbsoluteCountNamesItsRemedy) {
  for (const FaultCount& one : kFaultCounts) {
    if (!one.always) continue;
    EXPECT_NE(one.fix.find("drain the node"), std::string_view::npos) << one.name;
  }
  EXPECT_EQ(find_fault_count("flop_rate"), nullptr);
}

}  // namespace
}  // namespace headrace::judging::part_faults_test
