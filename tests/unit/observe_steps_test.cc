// Counting batches by what counts of calls grow by.
#include "harness/observe/steps.h"

#include <gtest/gtest.h>

namespace headrace::observe {
namespace {

TEST(CallsPerBatch, IsWhatMostJumpsAreAMultipleOf) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{2, 90}, {4, 9}, {3, 1}}, agreeing), 2u);
  EXPECT_DOUBLE_EQ(agreeing, 0.99);
  EXPECT_EQ(calls_per_batch({{7, 40}, {14, 10}}, agreeing), 7u);
  EXPECT_EQ(calls_per_batch({{6, 20}, {4, 20}}, agreeing), 2u);
}

TEST(CallsPerBatch, IsNotToldFromAFew) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{2, 7}}, agreeing), 0u);
  EXPECT_EQ(calls_per_batch({}, agreeing), 0u);
}

TEST(CallsPerBatch, IsOneWhereNothingIsAlike) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{3, 5}, {5, 5}, {7, 5}, {11, 5}}, agreeing), 1u);
}

/// A consumer that took batches of two calls each, and one worker.
Recording taken(std::uint64_t calls_in_each, std::uint32_t pauses_in_each,
                std::map<std::uint32_t, std::uint32_t> jumps) {
  Recording recording;
  recording.processes = {{.pid = 1}, {.pid = 2, .parent = 0}};
  for (int i = 0; i < 10; ++i) {
    Slice slice;
    slice.begin_s = i;
    slice.end_s = i + 1;
    ProcessSlice consumer, worker;
    consumer.pauses = pauses_in_each;
    worker.process = 1;
    consumer.counted.read_calls = calls_in_each;
    slice.processes = {consumer, worker};
    recording.slices.push_back(slice);
  }
  recording.hand_overs = {{.process = 0, .jumps = std::move(jumps)}};
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

TEST(Steps, AreCountedByHandOvers) {
  const Steps steps = counted(taken(20, 10, {{2, 100}}));
  EXPECT_DOUBLE_EQ(steps.count, 100);
  EXPECT_EQ(steps.confidence, Confidence::high);
}

TEST(Steps, OfBatchesThatComeTogetherAreTold) {
  const Steps steps = counted(taken(40, 20, {{4, 100}}));
  EXPECT_DOUBLE_EQ(steps.count, 200);
  EXPECT_EQ(steps.confidence, Confidence::medium);
}

TEST(Steps, AreUnknownWhereNothingTells) { EXPECT_EQ(counted(taken(0, 0, {})).count, 0); }

}  // namespace
}  // namespace headrace::observe
