// Sweep axes: lists and ranges are crossed, exclusions drop, too many points need consent.
#include "harness/base/config/sweep.h"

#include <gtest/gtest.h>

namespace headrace::config::sweep_test {
namespace {

std::vector<Combination> expand_text(const std::string& yaml, Diagnostics& problems, std::size_t most = 100) {
  return expand(parse_yaml(yaml, "c.yaml", problems), {"exclude"}, most, problems);
}

TEST(Sweep, CrossesListsInFileOrder) {
  Diagnostics problems;
  const auto points = expand_text("use: w\nengine: [posix, io_uring]\nworkers: [1, 2]\n", problems);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[1].entry.find("engine")->text, "posix");
  EXPECT_EQ(points[1].entry.find("workers")->text, "2");
  EXPECT_EQ(points[1].swept, (std::vector<std::pair<std::string, std::string>>{{"engine", "posix"}, {"workers", "2"}}));
  EXPECT_TRUE(problems.empty());
}

TEST(Sweep, RangesGrowByFactorOrStep) {
  Diagnostics problems;
  EXPECT_EQ(expand_range("4KiB..16KiB*2", {}, problems), (std::vector<std::string>{"4KiB", "8KiB", "16KiB"}));
  EXPECT_EQ(expand_range("512KiB..2MiB*2", {}, problems), (std::vector<std::string>{"512KiB", "1024KiB", "2048KiB"}));
  EXPECT_EQ(expand_range("1..1024*4", {}, problems), (std::vector<std::string>{"1", "4", "16", "64", "256", "1024"}));
  EXPECT_EQ(expand_range("10..30+10", {}, problems), (std::vector<std::string>{"10", "20", "30"}));
  EXPECT_EQ(expand_range("1s..1200ms+100ms", {}, problems), (std::vector<std::string>{"1s", "1.1s", "1.2s"}));
  EXPECT_EQ(expand_range("500us..2ms*2", {}, problems), (std::vector<std::string>{"500us", "1000us", "2000us"}));
  EXPECT_EQ(expand_range("1min..2min+30s", {}, problems), (std::vector<std::string>{"1min", "90s", "2min"}));
  EXPECT_EQ(expand_range("1s..10s+1ms", {}, problems).size(), 9001u);
  EXPECT_TRUE(expand_range("../data", {}, problems).empty());
  EXPECT_TRUE(problems.empty());
  expand_range("4KiB..1KiB*2", {}, problems);
  expand_range("1..8*1", {}, problems);
  expand_range("1MiB..8MiB+1", {}, problems);  // one what?
  expand_range("1s..10s+1kB", {}, problems);
  expand_range("1s..10kB*2", {}, problems);
  EXPECT_EQ(problems.errors().size(), 5u);
}

TEST(Sweep, ExcludesImpossibleValues) {
  Diagnostics problems;
  const auto points = expand_text(
      "use: w\nengine: [posix, io_uring]\nqueue_depth: [1, 8, 32]\nexclude: [{engine: posix, "
      "queue_depth: [8, 32]}]\n",
      problems);
  EXPECT_EQ(points.size(), 4u);
}

TEST(Sweep, AnExclusionThatCanNeverMatchIsAProblem) {
  const auto problem = [](const std::string& exclude) {
    Diagnostics problems;
    expand_text("use: w\nengine: [posix, mmap]\nexclude: " + exclude + "\n", problems);
    return problems.errors().size() == 1 ? to_string(problems.errors()[0]) : "";
  };
  EXPECT_EQ(problem("[{engin: mmap}]"),
            "c.yaml:3:12: exclude: 'engin' is not a key of this entry; did you mean 'engine'?");
  EXPECT_EQ(problem("{engine: mmap}"), "c.yaml:3:10: exclude: must be a list of maps, as in [{engine: mmap}]");
  EXPECT_EQ(problem("[mmap]"), "c.yaml:3:11: exclude: each rule is a map of keys and values");
}

TEST(Sweep, TooManyPointsIsAProblem) {
  Diagnostics problems;
  EXPECT_TRUE(expand_text("a: [1,2,3]\nb: [1,2,3]\n", problems, 8).empty());
  ASSERT_EQ(problems.errors().size(), 1u);
  EXPECT_NE(problems.errors()[0].text.find("9 points; at most 8"), std::string::npos);
}

}  // namespace
}  // namespace headrace::config::sweep_test
