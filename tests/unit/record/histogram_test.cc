// The histogram's error bound over its whole range, percentiles, merging, and what run files store.
#include "harness/record/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace headrace::histogram_test {
namespace {

constexpr std::uint64_t kLimit = std::uint64_t{1} << Histogram::kMaxBits;

TEST(Histogram, BucketsCoverTheRangeWithoutGapOrOverlap) {
  // First value of a bucket, walked through all of them: the value before belongs to the bucket
  // before.
  for (std::size_t b = 1; b < Histogram::kBuckets; ++b) {
    std::uint64_t first = b;
    if (b >= Histogram::kSub) {
      first = (Histogram::kSub + b % Histogram::kSub) << (b / Histogram::kSub - 1);
    }
    ASSERT_EQ(Histogram::bucket_of(first), b);
    ASSERT_EQ(Histogram::bucket_of(first - 1), b - 1);
  }
  EXPECT_EQ(Histogram::bucket_of(kLimit - 1), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::bucket_of(kLimit), Histogram::kBuckets - 1);
  EXPECT_EQ(Histogram::bucket_of(UINT64_MAX), Histogram::kBuckets - 1);
}

TEST(Histogram, TheMiddleOfABucketIsWithinTheStatedErrorOfEveryValueInIt) {
  // The error is largest at a bucket's ends, so its first and last value prove the bound for all
  // between.
  double worst = 0;
  for (std::size_t b = 1; b < Histogram::kBuckets; ++b) {
    const std::uint64_t shift = b < Histogram::kSub ? 0 : b / Histogram::kSub - 1;
    const std::uint64_t first = b < Histogram::kSub ? b : (Histogram::kSub + b % Histogram::kSub) << shift;
    const std::uint64_t last = first + (std::uint64_t{1} << shift) - 1;
    ASSERT_EQ(Histogram::bucket_of(last), b);
    for (const std::uint64_t value : {first, last}) {
      const auto v = static_cast<double>(value);
      worst = std::max(worst, std::abs(Histogram::value_of(b) - v) / v);
    }
  }
  EXPECT_LE(worst, Histogram::kRelativeError);
  EXPECT_LE(worst, 0.01);
}

TEST(Histogram, PercentilesOfKnownValues) {
  Histogram h;
  for (std::uint64_t ns = 1; ns <= 1000; ++ns) h.add(ns * 1000);
  EXPECT_EQ(h.total(), 1000u);
  EXPECT_EQ(h.min_ns(), 1000u);
  EXPECT_EQ(h.max_ns(), 1'000'000u);
  for (const double p : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const double exact = p * 1e6;
    EXPECT_NEAR(h.percentile(p), exact, exact * Histogram::kRelativeError) << p;
  }
  EXPECT_EQ(h.percentile(1), 1e6);
  EXPECT_NEAR(h.percentile(0), 1000, 1000 * Histogram::kRelativeError);
  EXPECT_NEAR(h.mean_ns(), 500.5e3, 500.5e3 * Histogram::kRelativeError);
}

TEST(Histogram, SmallValuesAreExactAndPercentilesStayBetweenMinimumAndMaximum) {
  Histogram h;
  for (const std::uint64_t ns : {3, 7, 7, 63}) h.add(ns);
  EXPECT_EQ(h.percentile(0.25), 3);
  EXPECT_EQ(h.percentile(0.5), 7);
  EXPECT_EQ(h.percentile(0.75), 7);
  Histogram one;
  one.add(1'000'003);
  EXPECT_EQ(one.percentile(0.5), 1'000'003);
  EXPECT_EQ(Histogram{}.percentile(0.99), 0);
  EXPECT_EQ(Histogram{}.min_ns(), 0u);
  EXPECT_EQ(Histogram{}.mean_ns(), 0);
}

TEST(Histogram, MergingIsTheSameAsRecordingTogether) {
  std::mt19937_64 random(7);
  Histogram parts[3], whole;
  for (int i = 0; i < 30000; ++i) {
    const std::uint64_t ns = random() >> (random() % 40 + 22);
    parts[i % 3].add(ns);
    whole.add(ns);
  }
  parts[0].merge(parts[1]);
  parts[0].merge(parts[2]);
  parts[0].merge(Histogram{});
  EXPECT_EQ(parts[0].total(), whole.total());
  EXPECT_EQ(parts[0].min_ns(), whole.min_ns());
  EXPECT_EQ(parts[0].max_ns(), whole.max_ns());
  for (double p = 0; p <= 1; p += 0.01) EXPECT_EQ(parts[0].percentile(p), whole.percentile(p));
}

TEST(Histogram, RoundTripsThroughARunFile) {
  Histogram h;
  for (const std::uint64_t ns : {0ull, 50ull, 12'345ull, 999'999'999ull}) h.add(ns);
  const Histogram back = Histogram::from(h.nonzero(), h.min_ns(), h.max_ns());
  EXPECT_EQ(back.total(), 4u);
  EXPECT_EQ(back.min_ns(), 0u);
  EXPECT_EQ(back.max_ns(), 999'999'999u);
  EXPECT_EQ(back.percentile(0.75), h.percentile(0.75));
  const Histogram bare = Histogram::from({{100, 2}}, 0, 0);
  EXPECT_EQ(bare.percentile(0.5), static_cast<double>(bare.min_ns()));
  EXPECT_TRUE(Histogram::from({{UINT32_MAX, 5}}, 0, 0).nonzero().empty());
}

}  // namespace
}  // namespace headrace::histogram_test
