#include "harness/analysis/sizing/predictions.h"

#include <gtest/gtest.h>

namespace headrace::sizing::predictions_test {
namespace {

results::StoredRun rehearsal(const std::string& id, const std::string& node, double predicted, double error,
                             const std::string& grade) {
  results::StoredRun run;
  run.id = id;
  run.node = node;
  run.prediction = {.predicted = predicted, .error = error, .grade = grade};
  return run;
}

TEST(Predictions, RunsThatRehearsedNothingReportNothing) {
  const std::vector<results::StoredRun> runs(2);
  EXPECT_TRUE(predictions_of(runs).empty());
}

TEST(Predictions, OneSaysLittle) {
  const std::vector<results::StoredRun> runs{rehearsal("a", "n1", 0.5, 0.01, "close")};
  const auto all = predictions_of(runs);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].reported, "one rehearsal on n1: predicted 50.0 %, rehearsed 49.0 % (close); one says little");
}

TEST(Predictions, AreOfEachMachineAndCountOnce) {
  const std::vector<results::StoredRun> runs{rehearsal("a", "n1", 0.5, 0.01, "close"),
                                             rehearsal("b", "n2", 0.9, 0.20, "off"),
                                             rehearsal("c", "n1", 0.6, -0.05, "within its interval"),
                                             rehearsal("a", "n1", 0.5, 0.01, "close"),
                                             rehearsal("d", "n2", 0.8, 0.10, "off"),
                                             rehearsal("e", "n2", 0.7, 0.15, "off")};
  const auto all = predictions_of(runs);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].node, "n1");
  ASSERT_EQ(all[0].each.size(), 2u);
  EXPECT_DOUBLE_EQ(all[0].typical, 0.03);
  EXPECT_DOUBLE_EQ(all[0].worst, -0.05);
  EXPECT_DOUBLE_EQ(all[0].each[1].rehearsed, 0.65);
  EXPECT_EQ(all[0].reported.find("promise"), std::string::npos) << all[0].reported;
  EXPECT_DOUBLE_EQ(all[1].bias, 0.15);
  EXPECT_NE(all[1].reported.find(
                "3 rehearsals on n2: utilization was predicted 15.0 points off in the median, +20.0 at worst; "
                "0 close, 0 within the interval, 3 off; predictions promise too much here"),
            std::string::npos)
      << all[1].reported;
}

}  // namespace
}  // namespace headrace::sizing::predictions_test
