// What a recorder keeps, when it says stop, and how its time series folds and merges.
#include "harness/record/recorder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace::recorder_test {
namespace {

std::uint64_t operations(const TimeSeries& s) {
  std::uint64_t n = 0;
  for (const auto& i : s.intervals()) n += i.operations;
  return n;
}

TEST(TimeSeries, CoarseLatencyIsWithinASixteenth) {
  for (std::uint64_t ns = 1; ns < (std::uint64_t{1} << 38); ns += ns / 37 + 1) {
    const double value = TimeSeries::coarse_value(TimeSeries::coarse_bucket(ns));
    ASSERT_LE(std::abs(value - static_cast<double>(ns)) / static_cast<double>(ns), 1.0 / 16) << ns;
  }
  EXPECT_EQ(TimeSeries::coarse_bucket(UINT64_MAX), TimeSeries::kCoarse - 1);
}

TEST(TimeSeries, FoldsUntilTheRunFitsAndLosesNothing) {
  constexpr std::uint64_t kStart = 1'000'000'000;
  TimeSeries s;
  s.start(kStart);
  const std::uint64_t first = s.interval_ns();
  // One operation per first interval over four times what fits.
  const std::uint64_t many = 4 * TimeSeries::kIntervals;
  for (std::uint64_t i = 0; i < many; ++i) s.add(kStart + i * first, 1000, 10);
  EXPECT_EQ(s.interval_ns(), 4 * first);
  EXPECT_EQ(operations(s), many);
  for (const auto& interval : s.intervals()) {
    EXPECT_EQ(interval.operations, 4u);
    EXPECT_EQ(interval.bytes, 40u);
    EXPECT_EQ(interval.latency[TimeSeries::coarse_bucket(1000)], 4u);
  }
}

TEST(TimeSeries, MergesWorkersOfDifferentLength) {
  TimeSeries longer, shorter;
  longer.start(0);
  shorter.start(0);
  const std::uint64_t unit = longer.interval_ns();
  for (std::uint64_t i = 0; i < 3 * TimeSeries::kIntervals; ++i) longer.add(i * unit, 5, 1);
  for (std::uint64_t i = 0; i < 100; ++i) shorter.add(i * unit, 5, 1);
  shorter.merge(longer);
  EXPECT_EQ(operations(shorter), 3 * TimeSeries::kIntervals + 100);
  EXPECT_EQ(shorter.interval_ns(), 4 * unit);
  EXPECT_EQ(shorter.intervals()[0].operations, 8u);
  EXPECT_EQ(shorter.intervals()[TimeSeries::kIntervals / 2].operations, 4u);
}

TEST(Recorder, CountsOperationsAndFailuresApart) {
  std::atomic<bool> stop{false};
  Recorder r(2);
  r.start(UINT64_MAX, &stop);
  const std::uint64_t t = r.started_ns();
  r.op(t, t + 1000, 4096);
  r.op(t + 1000, t + 3000, 4096);
  r.part(2, 500);
  for (int i = 0; i < 20; ++i) r.fail({.code = 5, .file = 7, .offset = 4096, .part = 2}, t + 4000);
  r.finish();
  EXPECT_EQ(r.operations(), 2u);
  EXPECT_EQ(r.bytes(), 8192u);
  EXPECT_EQ(r.errors(), 20u);
  EXPECT_EQ(r.kept_errors()[7].file, 7u);
  EXPECT_EQ(r.finished_ns(), t + 4000);
  EXPECT_EQ(r.parts()[0].total(), 0u);
  EXPECT_EQ(r.parts()[1].total(), 1u);
  EXPECT_EQ(r.progress_bytes(), 8192u);
  EXPECT_EQ(r.progress_operations(), 22u);
}

TEST(Recorder, OperationsTimedTogetherCountEachWithTheirMean) {
  std::atomic<bool> stop{false};
  Recorder r;
  r.start(UINT64_MAX, &stop);
  const std::uint64_t t = r.started_ns();
  r.ops(t, t + 2000, 40, 320);
  r.op(t + 2000, t + 3000, 8);
  r.finish();
  EXPECT_EQ(r.operations(), 41u);
  EXPECT_EQ(r.bytes(), 328u);
  EXPECT_EQ(r.finished_ns(), t + 3000);
  EXPECT_EQ(r.latency().percentile(0.5), 50);
  EXPECT_EQ(r.latency().max_ns(), 1000u);
  EXPECT_EQ(r.series().intervals()[0].operations, 41u);
}

TEST(Recorder, StopsAtTheDeadlineOrWhenAsked) {
  std::atomic<bool> stop{false};
  Recorder r;
  const std::uint64_t deadline = now_ns() + 1'000'000'000'000;
  r.start(deadline, &stop);
  EXPECT_TRUE(r.running());
  r.op(r.started_ns(), deadline - 1, 1);
  EXPECT_TRUE(r.running());
  r.op(r.started_ns(), deadline, 1);
  EXPECT_FALSE(r.running());
  Recorder asked;
  asked.start(UINT64_MAX, &stop);
  EXPECT_TRUE(asked.running());
  stop = true;
  EXPECT_FALSE(asked.running());
}

TEST(RecorderDeathTest, TooManyPartsIsOurOwnBug) { EXPECT_DEATH(Recorder(Recorder::kMaxParts + 1), "latency parts"); }

}  // namespace
}  // namespace headrace::recorder_test
