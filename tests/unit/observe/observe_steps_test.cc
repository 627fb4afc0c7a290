// Counting batches by what counts of calls grow by.
#include "harness/observe/learning/steps.h"

#include <gtest/gtest.h>

namespace headrace::observe::observe_steps_test {
namespace {

TEST(CallsPerBatch, IsWhatMostJumpsAreAMultipleOf) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{2, 90}, {4, 9}, {3, 1}}, agreeing), 2u);
  EXPECT_DOUBLE_EQ(agreeing, 0.99);
  EXPECT_EQ(calls_per_batch({{7, 40}, {14, 10}}, agreeing), 7u);
  EXPECT_EQ(calls_per_batch({{6, 20}, {4, 20}}, agreeing), 2u);
}

TEST(CallsPerBatch, IsNotReportedFromAFew) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{2, 7}}, agreeing), 0u);
  EXPECT_EQ(calls_per_batch({}, agreeing), 0u);
}

TEST(CallsPerBatch, IsOneWhereNothingIsAlike) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{3, 5}, {5, 5}, {7, 5}, {11, 5}}, agreeing), 1u);
}

/// A consumer that took batches, and one worker: of each of ten slices.
struct Each {
  std::uint64_t calls = 0;
  std::uint32_t pauses = 0, takes = 0;
};
Recording taken(const Each& each, std::map<std::uint32_t, std::uint32_t> jumps,
                std::map<std::uint32_t, std::uint32_t> by_pause) {
  Recording recording;
  recording.processes = {{.pid = 1}, {.pid = 2, .parent = 0}};
  for (int i = 0; i < 10; ++i) {
    Slice slice;
    slice.begin_s = i;
    slice.end_s = i + 1;
    ProcessSlice consumer, worker;
    consumer.pauses = each.pauses;
    consumer.takes = each.takes;
    worker.process = 1;
    consumer.taken_calls = consumer.looked_calls = each.calls;
    slice.processes = {consumer, worker};
    recording.slices.push_back(slice);
  }
  recording.hand_overs = {{.process = 0, .jumps = std::move(jumps), .by_pause = std::move(by_pause)}};
  return recording;
}

Steps counted(const Recording& recording) {
  Roles roles;
  roles.consumers = {0};
  roles.workers = {1};
  std::vector<const Slice*> slices;
  for (const Slice& slice : recording.slices) slices.push_back(&slice);
  return count_steps(recording, roles, slices);
}

TEST(Steps, AreCountedByWhatIsTakenBetweenPauses) {
  const Steps steps = counted(taken({.calls = 20, .pauses = 10, .takes = 10}, {}, {{2, 100}}));
  EXPECT_DOUBLE_EQ(steps.count, 100);
  EXPECT_EQ(steps.confidence, Confidence::high);
}

TEST(Steps, CountPausesThatWereTooShortToBeSeen) {
  const Steps steps = counted(taken({.calls = 40, .pauses = 15, .takes = 15}, {}, {{2, 100}, {4, 50}}));
  EXPECT_DOUBLE_EQ(steps.count, 200);
}

TEST(Steps, CountWhatFewPausesLeaveOut) {
  // Sixteen batches between two pauses that are seen: before the first and after the last there may be as many.
  Recording recording = taken({.calls = 40, .pauses = 1, .takes = 1}, {{2, 180}, {4, 10}}, {{32, 5}, {34, 5}});
  for (Slice& slice : recording.slices) slice.processes[0].taken_calls = 33;
  const Steps steps = counted(recording);
  EXPECT_DOUBLE_EQ(steps.count, 200);
  EXPECT_GT(steps.uncertainty, 0.15);
  // Far more is something else that is read.
  for (Slice& slice : recording.slices) slice.processes[0].looked_calls = 80;
  EXPECT_LT(counted(recording).count, 200);
}

TEST(Steps, AreUnsureOfWhatElseWasTakenWherePausesAreFew) {
  // Two jobs of 50 batches, of which few pauses are seen: 69 lie between those.
  Recording recording = taken({.calls = 20, .pauses = 2, .takes = 2}, {{2, 180}, {4, 10}}, {{8, 5}, {10, 5}});
  for (Slice& slice : recording.slices) slice.processes[0].taken_calls = 14;
  const Steps steps = counted(recording);
  EXPECT_GE(steps.count * (1 + steps.uncertainty), 90);
  EXPECT_NE(steps.confidence, Confidence::high);
}

TEST(Steps, AreNotTakenTwoForOneWhereBatchesComeInPairs) {
  const Steps steps = counted(taken({.calls = 40, .pauses = 10, .takes = 10}, {{2, 190}, {4, 5}}, {{4, 100}}));
  EXPECT_DOUBLE_EQ(steps.count, 200);
  // Looks that come in the midst of taking one show nothing of the number.
  EXPECT_DOUBLE_EQ(counted(taken({.calls = 40, .pauses = 10, .takes = 10}, {{1, 50}, {3, 50}}, {{4, 100}})).count, 100);
  EXPECT_DOUBLE_EQ(counted(taken({.calls = 40, .pauses = 10, .takes = 10}, {{2, 50}, {4, 40}}, {{4, 100}})).count, 100);
  EXPECT_DOUBLE_EQ(counted(taken({.calls = 140, .pauses = 10, .takes = 10}, {{2, 90}, {14, 10}}, {{14, 100}})).count,
                   100);
}

TEST(Steps, AreTwoWherePausesSayThatSomeWereReadBeforeTheirTurn) {
  // Looks see both of them at once; now and then one came alone.
  const Steps two = counted(taken({.calls = 40, .pauses = 20, .takes = 10}, {{4, 100}}, {{4, 90}, {2, 10}}));
  EXPECT_DOUBLE_EQ(two.count, 200);
  EXPECT_EQ(two.calls, 2);
  EXPECT_EQ(two.confidence, Confidence::low);
  EXPECT_FALSE(two.distinguished());
  // Where none did, as many pauses may be two in each step: both numbers are within the bounds.
  const Steps either = counted(taken({.calls = 40, .pauses = 20, .takes = 10}, {{4, 100}}, {{4, 100}}));
  EXPECT_DOUBLE_EQ(either.count, 100);
  EXPECT_GE(either.count * either.most, 200);
  EXPECT_EQ(either.confidence, Confidence::low);
  // Of other numbers nothing follows.
  const Steps odd = counted(taken({.calls = 40, .pauses = 20, .takes = 10}, {{4, 100}}, {{4, 90}, {3, 10}}));
  EXPECT_DOUBLE_EQ(odd.count, 100);
  EXPECT_TRUE(counted(taken({.calls = 40, .pauses = 10, .takes = 10}, {{4, 100}}, {{4, 100}})).distinguished());
}

TEST(Steps, DoNotCountPausesWithoutABatch) {  // a GPU is waited for several times in each step
  EXPECT_DOUBLE_EQ(counted(taken({.calls = 20, .pauses = 50, .takes = 10}, {}, {{2, 100}})).count, 100);
}

TEST(Steps, AreLessSureWherePausesAndLooksCountDifferently) {
  const std::map<std::uint32_t, std::uint32_t> twos{{2, 100}};
  Recording recording = taken({.calls = 20, .pauses = 10, .takes = 10}, twos, twos);
  const double alike = counted(recording).uncertainty;
  for (Slice& slice : recording.slices) slice.processes[0].looked_calls = 21;
  EXPECT_NEAR(counted(recording).uncertainty - alike, 0.05, 0.01);
  for (Slice& slice : recording.slices) slice.processes[0].looked_calls = 19;
  EXPECT_NEAR(counted(recording).uncertainty - alike, 0.05, 0.01);
}

TEST(Steps, ThatAreNothingButPausesMayBeMore) {
  Recording recording = taken({.calls = 0, .pauses = 2, .takes = 0}, {}, {});
  for (Slice& slice : recording.slices) slice.processes[0].lead[static_cast<std::size_t>(Wait::sleep)] = 60;
  const Steps steps = counted(recording);
  EXPECT_DOUBLE_EQ(steps.count, 20);
  EXPECT_DOUBLE_EQ(steps.most, 30);  // each as short as the time between two looks
  EXPECT_EQ(steps.confidence, Confidence::low);
}

TEST(Steps, ArePausesWhereReadsAreOfNoNumber) {
  const Steps steps = counted(taken({.calls = 77, .pauses = 10, .takes = 10}, {}, {{5, 30}, {7, 40}, {11, 30}}));
  EXPECT_DOUBLE_EQ(steps.count, 100);
  EXPECT_EQ(steps.confidence, Confidence::low);
}

TEST(Steps, OfOneThatNeverPausesAreNoMoreThanLikely) {
  const Steps steps = counted(taken({.calls = 40, .pauses = 0, .takes = 0}, {{4, 100}}, {}));
  EXPECT_DOUBLE_EQ(steps.count, 100);
  EXPECT_EQ(steps.confidence, Confidence::medium);
}

TEST(Steps, AreUnknownWhereNothingReports) { EXPECT_EQ(counted(taken({}, {}, {})).count, 0); }

}  // namespace
}  // namespace headrace::observe::observe_steps_test
