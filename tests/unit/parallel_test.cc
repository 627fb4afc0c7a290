#include "harness/base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace headrace {
namespace {

TEST(ParallelFor, DoesEveryItemOnce) {
  std::vector<std::atomic<int>> seen(1000);
  unsigned ticks = 0;
  parallel_for(
      seen.size(), 4,
      [&](unsigned worker, std::uint64_t item) {
        EXPECT_LT(worker, 4u);
        ++seen[item];
      },
      [&] { ++ticks; });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
  EXPECT_GE(ticks, 1u);
}

TEST(ParallelFor, NothingToDo) {
  parallel_for(0, 4, [](unsigned, std::uint64_t) { FAIL(); });
}

TEST(ParallelFor, FirstFailureStopsTheRest) {
  std::atomic<std::uint64_t> done{0};
  const auto body = [&](unsigned, std::uint64_t item) {
    if (item == 10) throw std::runtime_error("ten");
    ++done;
  };
  EXPECT_THROW(parallel_for(1'000'000'000, 2, body), std::runtime_error);
  EXPECT_LT(done, 1'000'000'000u);
}

TEST(ParallelFor, TheCallerCanStopIt) {
  const auto stop = [] { throw std::runtime_error("stop"); };
  EXPECT_THROW(parallel_for(
                   1'000'000'000'000, 2, [](unsigned, std::uint64_t) {}, stop),
               std::runtime_error);
}

}  // namespace
}  // namespace headrace
