// Storms with answers known by hand, compared with a slow and simple filling, and their properties.
#include "harness/analysis/simulate/fluid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/base/random.h"

namespace headrace::simulate {
namespace {

double drawn(Random& random, double low, double high) {
  return low + (high - low) * std::ldexp(static_cast<double>(random.next() >> 11), -53);
}

TEST(FillLevel, FillsTheSlowestFirst) {
  const std::vector<double> speeds{1, 2, 4}, one_each{1, 1, 1};
  EXPECT_DOUBLE_EQ(fill_level(speeds, one_each, 6), 3);
  EXPECT_DOUBLE_EQ(fill_level(speeds, one_each, 2), 2.0 / 3);
  EXPECT_EQ(fill_level(speeds, one_each, 7), HUGE_VAL);
  EXPECT_EQ(fill_level(speeds, {0, 0, 0}, 0), HUGE_VAL);
  EXPECT_DOUBLE_EQ(fill_level(speeds, {2, 0, 2}, 5), 1.5);
}

TEST(Storm, SharesOfOneStoreGrowWhenAnotherEnds) {
  const StormResult result = run({.flows = {{0, 10}, {0, 20}}, .speeds = {100}, .store = [](double) { return 2.0; }});
  EXPECT_DOUBLE_EQ(result.ends_s[0], 10);
  EXPECT_DOUBLE_EQ(result.ends_s[1], 15);
  EXPECT_DOUBLE_EQ(result.end_s, 15);
  EXPECT_DOUBLE_EQ(result.flow_s.store, 25);
  EXPECT_DOUBLE_EQ(result.flow_s.client, 0);
}

TEST(Storm, ChainsOfLimits) {
  // The first has its own link of 1; the others share an uplink of 4 that is narrower than their links.
  const Storm storm{.flows = {{0, 10, 0, 0}, {0, 10, 1, 1}, {0, 20, 1, 1}},
                    .speeds = {1, 10},
                    .groups = {100, 4},
                    .store = [](double) { return 10.0; }};
  const StormResult wide = run(storm);
  EXPECT_DOUBLE_EQ(wide.ends_s[0], 10);
  EXPECT_DOUBLE_EQ(wide.ends_s[1], 5);
  EXPECT_DOUBLE_EQ(wide.ends_s[2], 7.5);
  EXPECT_DOUBLE_EQ(wide.flow_s.uplink, 12.5);
  EXPECT_DOUBLE_EQ(wide.flow_s.client, 10);
  // A store of 4 leaves 1.5 to each of them, less than the uplink's 2, until one has ended.
  Storm narrow = storm;
  narrow.flows = {{0, 100, 0, 0}, {0, 15, 1, 1}, {0, 21, 1, 1}};
  narrow.store = [](double) { return 4.0; };
  const StormResult shared = run(narrow);
  EXPECT_DOUBLE_EQ(shared.ends_s[1], 10);
  EXPECT_DOUBLE_EQ(shared.ends_s[2], 12);  // 6 B left at 3 B/s
  EXPECT_DOUBLE_EQ(shared.flow_s.store, 22);
}

TEST(Storm, AStoreThatSaturatesGivesLessToEach) {
  const StormResult result =
      run({.flows = {{0, 50}, {5, 50}}, .speeds = {100}, .store = [](double n) { return 10 * n / (1 + n); }});
  EXPECT_DOUBLE_EQ(result.ends_s[0], 12.5);
  EXPECT_DOUBLE_EQ(result.ends_s[1], 17.5);
}

TEST(Storm, RefusedClientsRetry) {
  Storm storm{.flows = {{0, 10}, {0, 10}}, .speeds = {10}, .most_clients = 1, .retry_after_s = 1, .seed = 7};
  const StormResult result = run(storm);
  EXPECT_DOUBLE_EQ(result.ends_s[0], 1);
  EXPECT_GE(result.retries, 1u);
  EXPECT_GE(result.ends_s[1], 2);
  EXPECT_LE(result.ends_s[1], 1 + 1.5 + 3 + 1);
  EXPECT_NEAR(result.flow_s.waiting, result.ends_s[1] - 1, 1e-12);
  EXPECT_EQ(run(storm).ends_s, result.ends_s);
  storm.most_clients = 2;
  EXPECT_EQ(run(storm).retries, 0u);
  EXPECT_DOUBLE_EQ(run(storm).end_s, 1);
}

TEST(Storm, PausesGrowUpToTheLongest) {
  Storm storm{.flows = {{0, 10000}, {0, 1}}, .speeds = {10}, .most_clients = 1, .retry_after_s = 1, .retry_most_s = 8};
  const double retries = static_cast<double>(run(storm).retries);  // in 1000 s
  EXPECT_GE(retries, 1000 / 12.0);
  EXPECT_LE(retries, 1000 / 4.0 + 4);
}

TEST(Storm, EndlessFlowsLeaveWhenTheRestHasEnded) {
  const StormResult result =
      run({.flows = {{0, HUGE_VAL, 0}, {0, 10, 1}}, .speeds = {1, 10}, .store = [](double) { return 3.0; }});
  EXPECT_DOUBLE_EQ(result.end_s, 5);
  EXPECT_DOUBLE_EQ(result.bytes[0], 5);
  EXPECT_DOUBLE_EQ(result.bytes[1], 10);
}

TEST(Storm, NothingMovesThroughAnUplinkThatIsDown) {
  const StormResult result = run({.flows = {{0, 10}}, .speeds = {1}, .groups = {0}});
  EXPECT_EQ(result.ends_s[0], HUGE_VAL);
}

Storm random_storm(Random& random, unsigned flows, bool endless) {
  Storm storm;
  const unsigned speeds = 1 + static_cast<unsigned>(random.below(4)),
                 groups = 1 + static_cast<unsigned>(random.below(6));
  for (unsigned k = 0; k < speeds; ++k)
    storm.speeds.push_back((storm.speeds.empty() ? 0 : storm.speeds.back()) + drawn(random, 0.5, 3));
  for (unsigned g = 0; g < groups; ++g) storm.groups.push_back(drawn(random, 1, 10));
  const double store = drawn(random, 2, 30), half = drawn(random, 0.1, 10);
  storm.store = [=](double n) { return store * n / (n + half); };
  for (unsigned i = 0; i < flows; ++i)
    storm.flows.push_back({endless ? 0 : drawn(random, 0, 10),
                           endless && i > 0 ? HUGE_VAL
                           : endless        ? 1e-3
                                            : drawn(random, 1, 50),
                           static_cast<unsigned>(random.below(speeds)), static_cast<unsigned>(random.below(groups))});
  return storm;
}

/// Rates of the flows at work by progressive filling, written as its definition says.
std::vector<double> filled(const Storm& storm, const std::vector<unsigned>& at_work) {
  std::vector<double> rates(at_work.size(), 0);
  std::vector<bool> fixed(at_work.size(), false);
  for (;;) {
    double step = HUGE_VAL, used = 0;
    unsigned growing = 0;
    std::vector<double> group_used(storm.groups.size()), group_growing(storm.groups.size());
    for (std::size_t i = 0; i < at_work.size(); ++i) {
      const Flow& f = storm.flows[at_work[i]];
      used += rates[i];
      group_used[f.group] += rates[i];
      if (fixed[i]) continue;
      ++growing;
      group_growing[f.group] += 1;
      step = std::min(step, storm.speeds[f.speed] - rates[i]);
    }
    if (growing == 0) return rates;
    step = std::min(step, (storm.store(static_cast<double>(at_work.size())) - used) / growing);
    for (std::size_t g = 0; g < storm.groups.size(); ++g)
      if (group_growing[g] > 0) step = std::min(step, (storm.groups[g] - group_used[g]) / group_growing[g]);
    for (std::size_t i = 0; i < at_work.size(); ++i)
      if (!fixed[i]) rates[i] += step;
    used += step * growing;
    for (std::size_t i = 0; i < at_work.size(); ++i) {
      const Flow& f = storm.flows[at_work[i]];
      const bool group_full = group_used[f.group] + step * group_growing[f.group] >= storm.groups[f.group] - 1e-9;
      fixed[i] = fixed[i] || group_full || used >= storm.store(static_cast<double>(at_work.size())) - 1e-9 ||
                 rates[i] >= storm.speeds[f.speed] - 1e-9;
    }
  }
}

std::vector<double> simple_run(const Storm& storm) {
  std::vector<double> left(storm.flows.size()), ends(storm.flows.size(), -1);
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = storm.flows[i].bytes;
  double now = 0;
  for (;;) {
    std::vector<unsigned> at_work;
    double next = HUGE_VAL;
    bool any = false;
    for (unsigned i = 0; i < left.size(); ++i) {
      any = any || ends[i] < 0;
      if (ends[i] >= 0) continue;
      if (storm.flows[i].arrives_s <= now)
        at_work.push_back(i);
      else
        next = std::min(next, storm.flows[i].arrives_s);
    }
    if (!any) return ends;
    const std::vector<double> rates = filled(storm, at_work);
    for (std::size_t i = 0; i < at_work.size(); ++i) next = std::min(next, now + left[at_work[i]] / rates[i]);
    for (std::size_t i = 0; i < at_work.size(); ++i) {
      left[at_work[i]] -= rates[i] * (next - now);
      if (left[at_work[i]] <= 1e-9) ends[at_work[i]] = next;
    }
    now = next;
  }
}

TEST(Storm, EndsAsSimpleFillingDoes) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(mix(seed));
    const Storm storm = random_storm(random, 1 + static_cast<unsigned>(random.below(40)), false);
    const StormResult result = run(storm);
    const std::vector<double> simple = simple_run(storm);
    for (std::size_t i = 0; i < simple.size(); ++i)
      ASSERT_NEAR(result.ends_s[i], simple[i], 1e-6 * simple[i]) << "seed " << seed << ", flow " << i;
  }
}

TEST(Storm, NoFlowCouldGetMoreWithoutAPoorerOneLosing) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(mix(seed));
    // The first flow ends long before anything else changes, so that bytes over time are rates.
    const Storm storm = random_storm(random, 2 + static_cast<unsigned>(random.below(60)), true);
    const StormResult result = run(storm);
    std::vector<double> rates, groups(storm.groups.size()), richest(storm.groups.size());
    double all = 0, most = 0;
    for (std::size_t i = 0; i < storm.flows.size(); ++i) {
      rates.push_back(result.bytes[i] / result.end_s);
      const unsigned g = storm.flows[i].group;
      groups[g] += rates[i];
      richest[g] = std::max(richest[g], rates[i]);
      all += rates[i];
      most = std::max(most, rates[i]);
    }
    const double store = storm.store(static_cast<double>(storm.flows.size()));
    ASSERT_LE(all, store * (1 + 1e-9)) << seed;
    for (std::size_t g = 0; g < groups.size(); ++g) ASSERT_LE(groups[g], storm.groups[g] * (1 + 1e-9)) << seed;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const Flow& f = storm.flows[i];
      const bool own = rates[i] >= storm.speeds[f.speed] * (1 - 1e-9);
      const bool uplink =
          groups[f.group] >= storm.groups[f.group] * (1 - 1e-9) && rates[i] >= richest[f.group] * (1 - 1e-9);
      const bool behind = all >= store * (1 - 1e-9) && rates[i] >= most * (1 - 1e-9);
      ASSERT_LE(rates[i], storm.speeds[f.speed] * (1 + 1e-9)) << seed;
      ASSERT_TRUE(own || uplink || behind) << "seed " << seed << ", flow " << i << " of " << rates[i];
    }
  }
}

TEST(Storm, MomentsAddUpToTheMovedBytes) {
  Random random(3);
  const Storm storm = random_storm(random, 50, false);
  const StormResult result = run(storm, true);
  double moved = 0, asked = 0, at_work = 0;
  for (std::size_t i = 0; i + 1 < result.moments.size(); ++i) {
    const double lasts = result.moments[i + 1].at_s - result.moments[i].at_s;
    moved += result.moments[i].rate * lasts;
    at_work += result.moments[i].flows.sum() * lasts;
  }
  for (const Flow& f : storm.flows) asked += f.bytes;
  EXPECT_NEAR(moved, asked, 1e-9 * asked);
  EXPECT_NEAR(at_work, result.flow_s.sum(), 1e-9 * at_work);
  EXPECT_TRUE(run(storm).moments.empty());
}

}  // namespace
}  // namespace headrace::simulate
