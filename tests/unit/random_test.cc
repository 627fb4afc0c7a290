#include "harness/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace headrace {
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
}  // namespace headrace
