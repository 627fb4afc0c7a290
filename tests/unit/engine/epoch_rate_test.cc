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

TEST(EpochRate, IsTheMeasurementOfAWholeEpochOrOfItsHalves) {
  const auto is_measured = [](const PhaseResult& phase, double bytes) {
    const Estimate rate = epoch_rate(phase, 60, bytes);
    return rate.value == 60 && rate.low == 60 && rate.high == 60;
  };
  EXPECT_TRUE(is_measured(halves(40, 80), 120e6 / 0.951));
  EXPECT_FALSE(is_measured(halves(40, 80), 120e6 / 0.949));
  EXPECT_TRUE(is_measured(halves(40, 80), 0)) << "how much there is, is not known";
  PhaseResult of_names = halves(40, 80);
  of_names.bytes = 0;
  EXPECT_TRUE(is_measured(of_names, 0)) << "neither is how much was read";
  EXPECT_TRUE(is_measured(of_names, 1e15)) << "it read nothing of the data";
  EXPECT_TRUE(is_measured(halves(4, 19), 1e15)) << "operations";
  EXPECT_FALSE(is_measured(halves(4, 21), 1e15));
  PhaseResult other = halves(40, 80);
  other.first_finish_s = 0.1;
  EXPECT_TRUE(is_measured(other, 1e15)) << "a worker had nothing more to do: others alone say little";
  other.first_finish_s = 9;  // after the phase's own end
  EXPECT_NEAR(epoch_rate(other, 60, 1e15).high, 80, 1e-9);
  other = halves(40, 80);
  other.first_finish_s = 0;  // not known
  EXPECT_NEAR(epoch_rate(other, 60, 1e15).high, 80, 1e-9);
  other.series.erase(other.series.begin(), other.series.begin() + 7);  // one interval beside the last is too few
  EXPECT_FALSE(is_measured(other, 1e15));
  other.series.erase(other.series.begin());
  EXPECT_TRUE(is_measured(other, 1e15));
}

TEST(EpochRate, EndsWhereTheFirstWorkerHasNothingMore) {
  PhaseResult phase = halves(40, 80);
  phase.first_finish_s = 1;
  const Estimate rate = epoch_rate(phase, 60, 1e15);
  EXPECT_NEAR(rate.low, 40, 1e-9);
  EXPECT_NEAR(rate.high, 60, 1e-9);
}

TEST(EpochRate, LeavesOutTheIntervalThatTheTimeCutOff) {
  PhaseResult phase = halves(80, 80);
  phase.series.back().operations_per_s = 1;
  EXPECT_NEAR(epoch_rate(phase, 80, 1e15).low, 80, 1e-9);
}

}  // namespace
}  // namespace headrace::engine
