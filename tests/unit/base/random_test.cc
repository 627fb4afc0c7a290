#include "harness/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace headrace::random_test {
namespace {

TEST(RandomTest, GivesThePublishedSequence) {
  Random random(1234567);
  EXPECT_EQ(random.next(), 6457827717110365317u);
  EXPECT_EQ(random.next(), 3203168211198807973u);
  EXPECT_EQ(random.next(), 9817491932198370423u);
}

TEST(RandomTest, StaysBelowItsLimitAndReachesEveryValue) {
  Random random(1);
  std::vector<unsigned> seen(10);
  for (int i = 0; i < 10'000; ++i) ++seen.at(random.below(10));
  for (const unsigned n : seen) EXPECT_NEAR(n, 1000, 150);
}

TEST(RandomOrderTest, GivesEveryNumberOnce) {
  for (const std::uint64_t count : {1u, 2u, 3u, 64u, 65u, 1000u, 4096u, 10'007u}) {
    const RandomOrder order(count, count);
    EXPECT_GE(order.steps(), count);
    EXPECT_LT(order.steps(), 2 * count + 1);
    std::vector<unsigned> seen(count);
    for (std::uint64_t step = 0, value; step < order.steps(); ++step)
      if (order.at(step, value)) ++seen[value];
    EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](unsigned n) { return n == 1; })) << count;
  }
}

TEST(RandomOrderTest, LooksRandom) {
  // Of 65536 numbers in random order, how far is it from one to the next? The mean of |a - b| is a
  // third of the range; neighbours (read ahead would find them) are as rare as chance makes them.
  constexpr std::uint64_t kCount = 65'536;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const RandomOrder order(kCount, seed);
    std::uint64_t last = 0, value = 0, neighbours = 0;
    double distance = 0;
    order.at(0, last);
    for (std::uint64_t step = 1; step < kCount; ++step, last = value) {
      order.at(step, value);
      const auto gap = static_cast<double>(value > last ? value - last : last - value);
      distance += gap;
      neighbours += gap <= 4;
    }
    EXPECT_NEAR(distance / kCount / kCount, 1.0 / 3, 0.02) << seed;
    EXPECT_LT(neighbours, 60u) << seed;  // 8 expected
  }
}

TEST(ShuffleTest, KeepsEveryItemAndFollowsTheSeed) {
  const auto order = [](std::uint64_t seed) {
    std::vector<std::uint32_t> items(1000);
    std::iota(items.begin(), items.end(), 0u);
    Random random(seed);
    shuffle(std::span(items), random);
    return items;
  };
  const auto one = order(1);
  EXPECT_EQ(one, order(1));
  EXPECT_NE(one, order(2));
  auto sorted = one;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < 1000; ++i) EXPECT_EQ(sorted[i], i);
  EXPECT_FALSE(std::is_sorted(one.begin(), one.end()));
}

TEST(ShuffleTest, TakesNothingAndOneThing) {
  std::vector<int> none, one{7};
  Random random(1);
  shuffle(std::span(none), random);
  shuffle(std::span(one), random);
  EXPECT_EQ(one, std::vector<int>{7});
}

}  // namespace
}  // namespace headrace::random_test
