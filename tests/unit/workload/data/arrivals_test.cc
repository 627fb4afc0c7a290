// The schedule of an open loop: evenly spaced or Poisson, one for all workers.
#include "harness/workload/data/arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace headrace::arrivals_test {
namespace {

TEST(ArrivalsTest, AreEvenlySpacedFromTheOriginOn) {
  for (const double rate : {0.1, 3.0, 10'240.0, 7'000'000.0}) {
    Arrivals arrivals(rate, Spacing::constant);
    arrivals.begin(1'000);
    arrivals.begin(2'000);  // the first who begins decides
    Random random(1);
    for (int i = 0; i < 1000; ++i)
      EXPECT_NEAR(static_cast<double>(arrivals.take(random)), 1'000 + 1e9 * i / rate, 2) << rate;
  }
}

TEST(ArrivalsTest, EachIsTakenOnceHoweverManyWorkersThereAre) {
  constexpr std::size_t kEach = 20'000, kWorkers = 4;
  Arrivals arrivals(1e6, Spacing::constant);
  arrivals.begin(0);
  std::vector<std::vector<std::uint64_t>> taken(kWorkers);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      Random random(1);
      for (std::size_t i = 0; i < kEach; ++i) mine.push_back(arrivals.take(random));
    });
  }
  for (std::thread& t : threads) t.join();
  std::vector<std::uint64_t> all;
  for (const auto& mine : taken) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], 1000 * i);
}

TEST(ArrivalsTest, PoissonGapsAreExponential) {
  constexpr int kCount = 200'000;
  constexpr double kMean = 1e5;  // [ns]
  Arrivals arrivals(1e9 / kMean, Spacing::poisson);
  arrivals.begin(0);
  Random one(1), other(2);  // two workers in turns are one process
  std::vector<double> gaps;
  std::uint64_t last = arrivals.take(one);
  for (int i = 0; i < kCount; ++i) {
    const std::uint64_t next = arrivals.take(i % 2 ? one : other);
    gaps.push_back(static_cast<double>(next - last));
    last = next;
  }
  double sum = 0, squares = 0;
  int beyond_mean = 0, beyond_thrice = 0;
  for (const double gap : gaps) {
    sum += gap;
    squares += gap * gap;
    beyond_mean += gap > kMean;
    beyond_thrice += gap > 3 * kMean;
  }
  EXPECT_NEAR(sum / kCount / kMean, 1, 0.01);
  EXPECT_NEAR(squares / kCount / (kMean * kMean), 2, 0.05);
  EXPECT_NEAR(beyond_mean / double{kCount}, std::exp(-1.0), 0.005);
  EXPECT_NEAR(beyond_thrice / double{kCount}, std::exp(-3.0), 0.003);
}

TEST(ArrivalsTest, TheSameSeedGivesTheSameSchedule) {
  std::vector<std::uint64_t> first;
  for (int run = 0; run < 2; ++run) {
    Arrivals arrivals(1000, Spacing::poisson);
    arrivals.begin(7);
    Random random(42);
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 100; ++i) all.push_back(arrivals.take(random));
    if (run == 0) first = all;
    EXPECT_EQ(all, first);
  }
}

}  // namespace
}  // namespace headrace::arrivals_test
