// Counting batches by what counts of calls grow by.
#include "harness/observe/learning/steps.h"

#include <gtest/gtest.h>

namespace headrace::observe::observe_steps_test {
namespace {

TEST(CallsPerBatch, IsTheDivisorOfMostJumps) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{2, 90}, {4, 9}, {3, 1}}, agreeing), 2u);
  EXPECT_DOUBLE_EQ(agreeing, 0.99);
  EXPECT_EQ(calls_per_batch({{7, 40}, {14, 10}}, agreeing), 7u);
  EXPECT_EQ(calls_per_batch({{6, 20}, {4, 20}}, agreeing), 2u);
}

TEST(CallsPerBatch, IsNotReportedFromAFew) {
  double agreeing = 0;
  EXPECT_EQ(calls_per_batch({{2, 7}}, agreeing), 0u);
  EXPECT_EQ(agreeing, 0);
  EXPECT_EQ(calls_per_batch({}, agreeing), 0u);
  EXPECT_EQ(calls_per_batch({{2, 8}}, agreeing), 2u);
  EXPECT_EQ(calls_per_batch({{64, 8}}, agreeing), 64u);
  EXPECT_EQ(calls_per_batch({{65, 8}}, agreeing), 13u) << "no batch takes more than 64";
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

Steps counted(const Recording& recording, double consumers = 1) {
  Roles roles;
  roles.consumers_at_once = consumers;
  roles.consumers = {0};
  roles.workers = {1};
  std::vector<const Slice*> slices;
  for (const Slice& slice : recording.slices) slices.push_back(&slice);
  return count_steps(recording, roles, slices);
}

TEST(Steps, AreCountedByBatchesBetweenPauses) {
  const Steps steps = counted(taken({.calls = 20, .pauses = 10, .takes = 10}, {}, {{2, 100}}));
  EXPECT_DOUBLE_EQ(steps.count, 100);
  EXPECT_EQ(steps.confidence, Confidence::high);
}

TEST(Steps, CountPausesThatWereTooShortToBeSeen) {
  const Steps steps = counted(taken({.calls = 40, .pauses = 15, .takes = 15}, {}, {{2, 100}, {4, 50}}));
  EXPECT_DOUBLE_EQ(steps.count, 200);
}

TEST(Steps, CountStepsWithoutPauses) {
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

TEST(Steps, AreUnsureOfOtherReadsWithFewPauses) {
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

TEST(Steps, PausesAloneMayBeMore) {
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

TEST(Steps, WithoutPausesTheyAreNoMoreThanLikely) {
  const Steps steps = counted(taken({.calls = 40, .pauses = 0, .takes = 0}, {{4, 100}}, {}));
  EXPECT_DOUBLE_EQ(steps.count, 100);
  EXPECT_EQ(steps.confidence, Confidence::medium);
}

using Jumps = std::map<std::uint32_t, std::uint32_t>;

/// What each slice has more in all, in the first one.
Recording with_more(Recording recording, const Each& more) {
  ProcessSlice& first = recording.slices[0].processes[0];
  first.taken_calls += more.calls;
  first.looked_calls += more.calls;
  first.pauses += more.pauses;
  first.takes += more.takes;
  return recording;
}

TEST(Steps, AreTwoOnlyWhereTheRestIsOfHalfAsMany) {
  const auto count = [](Jumps by_pause) {
    return counted(taken({.calls = 40, .pauses = 20, .takes = 10}, {{4, 100}}, std::move(by_pause))).count;
  };
  EXPECT_EQ(count({{4, 98}, {2, 2}}), 200);
  EXPECT_EQ(count({{4, 99}, {2, 1}}), 100) << "one may be anything";
  EXPECT_EQ(count({{4, 90}, {2, 9}, {3, 1}}), 200);
  EXPECT_EQ(count({{4, 90}, {2, 8}, {3, 2}}), 100) << "the rest is of other numbers";
}

TEST(Steps, AreMoreWherePausesAreHalfAgainAsMany) {
  const auto most = [](const Each& each, std::uint32_t calls, std::uint32_t firsts = 0) {
    Recording recording = taken(each, {{calls, 100}}, {{calls, 100}});
    for (Slice& slice : recording.slices) slice.processes[0].first_takes = firsts;
    return counted(recording).most;
  };
  EXPECT_EQ(most({.calls = 40, .pauses = 14, .takes = 10}, 4), 1);
  EXPECT_EQ(most({.calls = 40, .pauses = 15, .takes = 10}, 4), 1.5);
  EXPECT_EQ(most({.calls = 40, .pauses = 50, .takes = 10}, 4), 2) << "a batch takes two calls at least";
  EXPECT_EQ(most({.calls = 80, .pauses = 50, .takes = 10}, 8), 4);
  EXPECT_EQ(most({.calls = 30, .pauses = 50, .takes = 10}, 3), 1) << "three calls are no two batches";
  EXPECT_EQ(most({.calls = 40, .pauses = 16, .takes = 10}, 4, 1), 1) << "each first one may have been read before";
  EXPECT_EQ(most({.calls = 40, .pauses = 17, .takes = 10}, 4, 1), 1.7);
  Recording firsts = taken({.calls = 20, .pauses = 10, .takes = 10}, {}, {{2, 100}});
  firsts.slices[0].processes[0].first_takes = 3;
  EXPECT_EQ(counted(firsts).count, 103);
}

TEST(Steps, OfOneCallEachAreThePauses) {
  const Jumps mixed{{2, 20}, {3, 20}, {5, 20}, {7, 20}, {11, 20}};
  const auto count = [&](std::uint64_t more) {
    return counted(with_more(taken({.calls = 10, .pauses = 10, .takes = 10}, mixed, mixed), {.calls = more})).count;
  };
  EXPECT_EQ(count(4), 104) << "as many calls as pauses: each was one";
  EXPECT_EQ(count(7), 100) << "seven in a hundred more: every number is a multiple of one";
  const Steps midst = counted(taken({.calls = 20, .pauses = 10, .takes = 10}, {{1, 90}, {2, 10}}, {{2, 100}}));
  EXPECT_EQ(midst.count, 100) << "looks that see one call came in the midst";
  EXPECT_EQ(midst.confidence, Confidence::high);
}

TEST(Steps, AreUnsureByOtherCountsOfTheLooks) {
  const auto steps = [](std::uint32_t takes, std::uint64_t looked, double consumers = 1) {
    Recording recording = taken({.calls = 20, .pauses = takes, .takes = takes}, {{2, 100}}, {{2, 5}, {4, 5}});
    for (Slice& slice : recording.slices) slice.processes[0].looked_calls = looked;
    return counted(recording, consumers);
  };
  const auto is = [](const Steps& found, double count, double uncertainty) {
    EXPECT_DOUBLE_EQ(found.count, count);
    EXPECT_NEAR(found.uncertainty - 2 / found.count, uncertainty, 1e-12);
  };
  is(steps(10, 30), 100, 0);  // half again as many, of pauses after each batch: something else is read
  is(steps(10, 18), 100, 0);
  is(steps(1, 25), 125, 0.2);  // of ten pauses: three batches may be missing from each gap, before and after
  is(steps(1, 27), 100, 1 - 100.0 / 135);
  is(steps(6, 30), 100, 0);
  is(steps(1, 31, 2), 155.0 / 2, 1 - 100.0 / 155);
}

TEST(Steps, AreSureWhereNearlyAllJumpsAgree) {
  const auto steps = [](const Each& each, Jumps by_pause) { return counted(taken(each, {}, std::move(by_pause))); };
  const Each one{.calls = 20, .pauses = 10, .takes = 10};
  EXPECT_EQ(steps(one, {{2, 98}, {3, 2}}).confidence, Confidence::high);
  const Steps unsure = steps(one, {{2, 96}, {3, 4}});
  EXPECT_EQ(unsure.confidence, Confidence::medium);
  EXPECT_NEAR(unsure.uncertainty, 0.04 / 2 + 2.0 / 100, 1e-12);
  EXPECT_EQ(steps({.calls = 70, .pauses = 10, .takes = 10}, {{2, 50}, {4, 50}}).confidence, Confidence::high);
  EXPECT_EQ(steps({.calls = 90, .pauses = 10, .takes = 10}, {{2, 50}, {4, 50}}).confidence, Confidence::medium)
      << "four and a half batches between two pauses that were seen";
  const Steps fewer = steps({.calls = 20, .pauses = 11, .takes = 11}, {{2, 100}});
  EXPECT_EQ(fewer.count, 110) << "fewer calls than pauses after reads: pauses count";
  EXPECT_NEAR(fewer.uncertainty, 1 + 2.0 / 110, 1e-12);
}

TEST(Steps, OfOneThatNeverPausesAreUnsureByLooksInTheMidst) {
  const auto steps = [](Jumps jumps) { return counted(taken({.calls = 40}, std::move(jumps), {})); };
  EXPECT_EQ(steps({{2, 100}}).confidence, Confidence::medium);
  EXPECT_EQ(steps({{1, 100}}).confidence, Confidence::low) << "every number is a multiple of one";
  EXPECT_EQ(steps({{2, 95}, {3, 5}}).confidence, Confidence::low);
  EXPECT_NEAR(steps({{2, 95}, {3, 5}}).uncertainty, 0.05 + 0.05 / 2 + 2.0 / 200, 1e-12);
  EXPECT_TRUE(steps({{2, 90}, {4, 10}}).distinguished());
  EXPECT_EQ(steps({{2, 90}, {4, 10}}).confidence, Confidence::medium);
  EXPECT_EQ(steps({{2, 80}, {4, 20}}).fewest, 0.5) << "one in five may have been two batches";
  EXPECT_EQ(steps({{2, 80}, {4, 20}}).confidence, Confidence::low);
}

TEST(Steps, AreReportedOfEightOrMore) {
  const auto steps = [](const Each& all) { return counted(with_more(taken({}, {{2, 20}}, {{2, 20}}), all)); };
  EXPECT_EQ(steps({.calls = 16, .pauses = 8, .takes = 8}).count, 8);
  EXPECT_EQ(steps({.calls = 16, .pauses = 8, .takes = 8}).confidence, Confidence::high);
  EXPECT_EQ(steps({.calls = 16, .pauses = 20, .takes = 8}).count, 8) << "and not of each pause, where takes are enough";
  EXPECT_EQ(steps({.calls = 16, .pauses = 7, .takes = 7}).count, 8) << "by looks";
  EXPECT_EQ(steps({.calls = 14, .pauses = 7, .takes = 7}).count, 0);
  const Steps pauses = steps({.calls = 0, .pauses = 8});
  EXPECT_EQ(pauses.count, 8);
  EXPECT_EQ(pauses.most, 1);
  EXPECT_NEAR(pauses.uncertainty, 0.1 + 2.0 / 8, 1e-12);
  EXPECT_EQ(steps({.calls = 0, .pauses = 7}).count, 0);
}

TEST(Steps, AreUnknownWhereNothingReports) { EXPECT_EQ(counted(taken({}, {}, {})).count, 0); }

}  // namespace
}  // namespace headrace::observe::observe_steps_test
