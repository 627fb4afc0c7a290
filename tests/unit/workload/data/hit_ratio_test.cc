// Why a measured hit ratio may differ from a predicted one.
#include "harness/workload/data/hit_ratio.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace headrace {
namespace {

/// Is that sentence among those of a cache that was looked at so?
bool reports(const std::vector<CacheLook>& looks, const std::string& words, double cache_ratio = 0.8) {
  CacheWatch watch;
  watch.start(looks.front());
  for (const CacheLook& look : looks) watch.look(look);
  const auto all = watch.oddities({.cache_ratio = cache_ratio});
  return std::ranges::any_of(all, [&](const std::string& one) { return one.find(words) != std::string::npos; });
}

TEST(CacheWatch, ReportsMemoryThatChangedByMoreThanATwentieth) {
  EXPECT_FALSE(reports({{100'000, 3}, {95'100, 3}, {100'000, 3}}, "memory available"));
  EXPECT_TRUE(reports({{100'000, 3}, {94'900, 3}, {100'000, 3}}, "memory available"));
  EXPECT_TRUE(reports({{100'000, 3}, {103'000, 3}, {97'000, 3}}, "changed between 97.0 kB and 103 kB"));
}

TEST(CacheWatch, ReportsThatAnotherProgramDroppedAllCaches) {
  EXPECT_FALSE(reports({{100'000, 3}, {100'000, 3}}, "dropped all caches"));
  EXPECT_TRUE(reports({{100'000, 3}, {100'000, 4}}, "dropped all caches"));
}

TEST(CacheWatch, ReportsWhereTheFormulaIsHigh) {
  EXPECT_TRUE(reports({{100'000, 3}}, "C7 is up to 0.07 high", 0.4));
  EXPECT_FALSE(reports({{100'000, 3}}, "C7 is up to 0.07 high", 0.6));
}

TEST(HitRatios, GrowWithTheCache) {
  const HitRatios half = predict_hit_ratios(50e9, 100e9), all = predict_hit_ratios(200e9, 100e9);
  EXPECT_DOUBLE_EQ(half.cache_ratio, 0.5);
  EXPECT_EQ(half.cyclic, 0) << "the oldest file leaves just before it is read again";
  EXPECT_GT(half.lru, 0);
  EXPECT_LT(half.lru, 0.5);
  EXPECT_GT(half.two_list, half.lru);
  for (const double one : {all.cache_ratio, all.lru, all.cyclic, all.two_list}) EXPECT_DOUBLE_EQ(one, 1);
}

}  // namespace
}  // namespace headrace
