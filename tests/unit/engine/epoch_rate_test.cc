#include "harness/engine/explain/epoch_rate.h"

#include <gtest/gtest.h>

namespace headrace::engine {
namespace {

/// Two seconds of which `first` and `later` are the operations per second, in ten intervals; 1 MB each.
PhaseResult halves(double first, double later) {
  PhaseResult phase;
  phase.elapsed_s = phase.first_finish_s = 2;
  for (int i = 0; i < 10; ++i)
    phase.series.push_back({.time_s = 0.1 + 0.2 * i, .operations_per_s = i < 5 ? first : later});
  phase.operations = static_cast<std::uint64_t>(first + later);
  phase.bytes = phase.operations * 1'000'000;
  return phase;
}

TEST(EpochRate, GoesOnAsTheLaterHalfDid) {
  // 120 of 1200 samples in 2 s, 80/s at last: 2 + 1080 / 80 = 15.5 s.
  const Estimate rate = epoch_rate(halves(40, 80), 60, 1200e6);
  EXPECT_NEAR(rate.value, 1200 / 15.5, 1e-9);
  EXPECT_NEAR(rate.low, 60, 1e-9);
  EXPECT_NEAR(rate.high, 80, 1e-9);
}

TEST(EpochRate, IsLessWhereTheBeginWasFaster) {
  const Estimate rate = epoch_rate(halves(80, 40), 60, 1e15);
  EXPECT_NEAR(rate.value, 40, 1e-4);
  EXPECT_NEAR(rate.low, 40, 1e-9);
  EXPECT_NEAR(rate.high, 60, 1e-9);
}

TEST(EpochRate, IsWhatWasMeasuredOfAWholeEpoch) {
  const Estimate rate = epoch_rate(halves(40, 80), 60, 120e6);
  EXPECT_EQ(rate.value, 60);
  EXPECT_EQ(rate.low, 60);
  EXPECT_EQ(rate.high, 60);
}

TEST(EpochRate, IsWhatWasMeasuredWhereHalvesReportNothing) {
  EXPECT_EQ(epoch_rate(halves(4, 8), 6, 1e15).high, 6);  // 8 operations
  PhaseResult without = halves(40, 80);
  without.series.clear();
  EXPECT_EQ(epoch_rate(without, 60, 1e15).value, 60);
  PhaseResult ended = halves(40, 80);
  ended.first_finish_s = 0.1;  // a worker had nothing more to do: others alone say little
  EXPECT_EQ(epoch_rate(ended, 60, 1e15).value, 60);
  EXPECT_EQ(epoch_rate(halves(40, 80), 60, 0).value, 60);  // how much there is, is not known
}

TEST(EpochRate, LeavesOutTheIntervalThatTheTimeCutOff) {
  PhaseResult phase = halves(80, 80);
  phase.series.back().operations_per_s = 1;
  EXPECT_NEAR(epoch_rate(phase, 80, 1e15).low, 80, 1e-9);
}

}  // namespace
}  // namespace headrace::engine
