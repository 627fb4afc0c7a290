#include "harness/base/parallel.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/base/error.h"

namespace headrace::parallel_test {
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

std::uint64_t pages_in_use() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages;
}

/// In a process of its own, with room for the stacks of a few threads.
void with_little_room(unsigned stacks, const std::function<int()>& body) {
  rlimit stack{};
  ::getrlimit(RLIMIT_STACK, &stack);
  const rlim_t room =
      pages_in_use() * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + stacks * (stack.rlim_cur + (1 << 16));
  const rlimit limit{room, room};
  ::setrlimit(RLIMIT_AS, &limit);
  std::_Exit(body());
}

TEST(ParallelFor, GoesOnWithTheThreadsThatThereAre) {
  if (pages_in_use() > std::uint64_t{1} << 28) GTEST_SKIP() << "a sanitizer reserves terabytes of address space";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto all = [] {
    std::atomic<int> done{0};
    parallel_for(100, 64, [&](unsigned, std::uint64_t) { ++done; });
    return done == 100 ? 0 : 1;
  };
  EXPECT_EXIT(with_little_room(2, all), ::testing::ExitedWithCode(0), "");
  const auto none = [] {
    try {
      parallel_for(100, 64, [](unsigned, std::uint64_t) {});
    } catch (const RunError& e) {
      return std::string(e.what()).starts_with("start a thread: ") ? 0 : 1;
    }
    return 2;
  };
  EXPECT_EXIT(with_little_room(0, none), ::testing::ExitedWithCode(0), "");
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
}  // namespace headrace::parallel_test
