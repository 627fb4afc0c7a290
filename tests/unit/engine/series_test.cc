// Grouping, warm-up cut and steadiness of a phase whose operations are known.
#include "harness/engine/phase_result.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headrace::engine::series_test {
namespace {

constexpr double kMs = 1e-3;

/// Operations of `bytes(t)` bytes, one each millisecond.
template <class Bytes>
PhaseResult phase_of(int milliseconds, Window window, Bytes bytes, std::string* why = nullptr,
                     Level must_be = Level::level, Starts starts = {.slow = true}) {
  TimeSeries series;
  series.start(0);
  PhaseResult phase;
  for (int ms = 0; ms < milliseconds; ++ms) {
    const std::uint64_t n = bytes(ms);
    series.add(static_cast<std::uint64_t>(ms) * 1'000'000 + 999'999, 500'000, n);
    phase.bytes += n;
    ++phase.operations;
  }
  phase.elapsed_s = phase.first_finish_s = milliseconds * kMs;
  phase.must_be = must_be;
  store_series(series, window, phase, starts);
  if (why != nullptr) *why = phase.not_steady;
  return phase;
}

TEST(Series, KeepsEveryByteAndOperation) {
  const PhaseResult p = phase_of(3000, Window::whole, [](int) { return 1000u; });
  ASSERT_GT(p.series.size(), 8u);
  ASSERT_LE(p.series.size(), 128u);
  double bytes = 0, from_s = 0;
  for (std::size_t i = 0; i < p.series.size(); ++i) {
    const double to_s = i + 1 < p.series.size() ? 2 * p.series[i].time_s - from_s : p.elapsed_s;
    bytes += p.series[i].bytes_per_s * (to_s - from_s);
    from_s = to_s;
    EXPECT_NEAR(p.series[i].latency_p99_ns, 500'000, 500'000 / 16.0);
  }
  EXPECT_NEAR(bytes, 3'000'000, 1);
  EXPECT_EQ(p.steady_from_s, 0);
  EXPECT_NEAR(p.bytes_per_s(), 1e6, 1);
}

TEST(Series, SlowOperationsAreGroupedUntilAPointHoldsAboutTen) {
  TimeSeries series;
  series.start(0);
  PhaseResult phase;
  for (std::uint64_t i = 0; i < 100; ++i) series.add((i + 1) * 20'000'000, 20'000'000, 1'000'000);
  phase.bytes = 100'000'000;
  phase.operations = 100;
  phase.elapsed_s = phase.first_finish_s = 2;
  Starts starts;
  store_series(series, Window::settled, phase, starts);
  EXPECT_LE(phase.series.size(), 11u);
  EXPECT_GE(phase.series.size(), 9u);
  EXPECT_EQ(phase.steady_from_s, 0);  // too few points to cut
}

TEST(Series, CutsTheWarmUpAndTakesRatesOfTheRest) {
  const auto slow_start = [](int ms) { return ms < 200 ? 100u : 1000u + static_cast<unsigned>(ms % 3); };
  std::string why;
  const PhaseResult warm = phase_of(2000, Window::settled, slow_start, &why);
  EXPECT_NEAR(warm.steady_from_s, 0.2, 0.03);
  EXPECT_NEAR(warm.bytes_per_s(), 1.001e6, 2e3);
  EXPECT_NEAR(warm.operations_per_s(), 1000, 2);
  EXPECT_EQ(why, "");
  const PhaseResult cold = phase_of(2000, Window::whole, slow_start);
  EXPECT_EQ(cold.steady_from_s, 0);
  EXPECT_NEAR(cold.bytes_per_s(), (200 * 100 + 1800 * 1001) / 2.0, 1e3);
}

/// A stall that falls on the start looks like a warm-up, once: only what comes again is one.
TEST(Series, ASlowStartIsCutWhenItComesAgain) {
  const auto slow_start = [](int ms) { return ms < 200 ? 100u : 1000u; };
  const PhaseResult first = phase_of(2000, Window::settled, slow_start, nullptr, Level::level, {});
  EXPECT_EQ(first.steady_from_s, 0);
  EXPECT_NEAR(first.bytes_per_s(), (200 * 100 + 1800 * 1000) / 2.0, 1e3);
  const auto fast_start = [](int ms) { return ms < 200 ? 3000u : 1000u; };  // a buffer that fills
  EXPECT_NEAR(phase_of(2000, Window::settled, fast_start, nullptr, Level::level, {}).steady_from_s, 0.2, 0.03);
}

/// What was fast at first says nothing of what is slow at first later.
TEST(Series, AFastStartBeforeMakesNoSlowStartOneThatComesAgain) {
  Starts starts;
  const auto begin = [&](unsigned first) {
    TimeSeries series;
    series.start(0);
    PhaseResult phase;
    for (std::uint64_t ms = 0; ms < 2000; ++ms) {
      const std::uint64_t bytes = ms < 200 ? first : 1000;
      series.add(ms * 1'000'000 + 999'999, 500'000, bytes);
      phase.bytes += bytes;
      ++phase.operations;
    }
    phase.elapsed_s = phase.first_finish_s = 2;
    store_series(series, Window::settled, phase, starts);
    return phase.steady_from_s;
  };
  EXPECT_NEAR(begin(3000), 0.2, 0.03);
  EXPECT_EQ(begin(100), 0);
  EXPECT_NEAR(begin(100), 0.2, 0.03);
}

/// What moves no bytes is steady or not by its operations.
TEST(Series, OperationsWithoutBytesAreJudgedToo) {
  const auto why = [](std::uint64_t later_ms) {
    TimeSeries series;
    series.start(0);
    PhaseResult phase;
    std::uint64_t at_ms = 0;
    for (; at_ms < 2000; at_ms += at_ms < 1000 ? 1 : later_ms, ++phase.operations)
      series.add(at_ms * 1'000'000 + 500'000, 500'000, 0);
    phase.elapsed_s = phase.first_finish_s = 2;
    phase.must_be = Level::level;
    Starts starts;
    store_series(series, Window::whole, phase, starts);
    return phase.not_steady;
  };
  EXPECT_EQ(why(1), "");
  EXPECT_NE(why(2), "");
}

TEST(Series, AStallInTheFirstHalfIsNotCut) {
  const auto stall = [](int ms) { return ms >= 400 && ms < 500 ? 10u : 1000u; };
  EXPECT_EQ(phase_of(2000, Window::settled, stall).steady_from_s, 0);
}

TEST(Series, NamesUnsteadyParts) {
  std::string why;
  phase_of(
      2000, Window::whole, [](int ms) { return ms < 1000 ? 1000u : 500u; }, &why);
  EXPECT_NE(why.find("slower"), std::string::npos) << why;
}

TEST(Series, AWholeColdPassMayBecomeFasterAndNotSlower) {
  const auto faster = [](int ms) { return ms < 1000 ? 500u : 1000u; };
  const auto slower = [](int ms) { return ms < 1000 ? 1000u : 500u; };
  std::string why;
  phase_of(2000, Window::whole, faster, &why);
  EXPECT_NE(why, "");
  phase_of(2000, Window::whole, faster, &why, Level::no_fall);
  EXPECT_EQ(why, "");
  phase_of(2000, Window::whole, slower, &why, Level::no_fall);
  EXPECT_NE(why.find("slower"), std::string::npos) << why;
}

TEST(Series, TheStretchWithIdleWorkersIsNotJudged) {
  TimeSeries series;
  series.start(0);
  PhaseResult phase;
  for (std::uint64_t ms = 0; ms < 2000; ++ms) {
    const std::uint64_t bytes = ms < 1000 ? 2000 : 1000;  // one of two workers is done after a second
    series.add(ms * 1'000'000 + 999'999, 500'000, bytes);
    phase.bytes += bytes;
    ++phase.operations;
  }
  phase.elapsed_s = 2;
  phase.first_finish_s = 1;
  phase.must_be = Level::level;
  Starts starts;
  store_series(series, Window::whole, phase, starts);
  EXPECT_EQ(phase.not_steady, "");
}

TEST(Series, NothingRecordedIsNoSeries) {
  TimeSeries series;
  series.start(0);
  PhaseResult phase;
  phase.elapsed_s = 1;
  Starts starts;
  store_series(series, Window::settled, phase, starts);
  EXPECT_EQ(phase.not_steady, "");
  EXPECT_TRUE(phase.series.empty());
}

}  // namespace
}  // namespace headrace::engine::series_test
