// What a device's time goes with, from groups of its answers.
#include "harness/observe/learning/pace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "tests/unit/temporary_folder.h"

namespace headrace::observe::observe_pace_test {
namespace {

/// A device that takes so long for each request and for each byte, asked for files that read-ahead reads in four sizes.
Pace paced(double per_request_s, double per_byte_s, double late_s = 0.01) {
  Grouping grouping;
  constexpr std::uint64_t kSizes[] = {16 << 10, 64 << 10, 128 << 10, 12 << 10};
  Answered so_far;
  double now = 0, next_look = 0;
  for (int request = 0; request < 800; ++request) {
    const std::uint64_t size = kSizes[request % 4 == 2 && request % 3 == 0 ? 1 : request % 4];
    now += per_request_s + per_byte_s * static_cast<double>(size);
    while (next_look < now) {
      grouping.look(next_look, so_far);
      next_look += late_s;
    }
    ++so_far.reads;
    so_far.bytes += size;
  }
  return grouping.take();
}

TEST(PaceShares, GoWithBytesWhereBytesAreHeld) {
  const auto shares = pace_shares(paced(0, 1 / 2e6));
  ASSERT_TRUE(shares);
  EXPECT_GT(shares->low, 0.8);
}

TEST(PaceShares, GoWithRequestsWhereTheseAreHeld) {
  const auto shares = pace_shares(paced(1 / 40.0, 0));
  ASSERT_TRUE(shares);
  EXPECT_LT(shares->high, 0.2);
}

TEST(PaceShares, GoWithBothWhereBothTakeTime) {
  const auto shares = pace_shares(paced(0.02, 0.02 / (55 << 10)));
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->bytes, 0.47, 0.1);
  EXPECT_TRUE(shares->low > 0.2 && shares->high < 0.8) << shares->low << " " << shares->high;
}

TEST(PaceShares, CannotBeReportedWhereAllRequestsAreAlikeOrFew) {
  Pace alike, few;
  for (int i = 1; i <= 100; ++i) add_group(alike, 0.1 * (1 + i % 3), 4.0 * (1 + i % 3), 4.0 * (1 + i % 3) * 54e3);
  EXPECT_FALSE(pace_shares(alike));
  for (int i = 1; i < 8; ++i) add_group(few, 0.1, 4, 5e4 * i);
  EXPECT_FALSE(pace_shares(few));
  EXPECT_FALSE(pace_shares({}));
}

TEST(PaceShares, OfNoiseHoldNearlyEverything) {
  Pace noise;
  for (int i = 1; i <= 12; ++i) add_group(noise, 0.05 * (1 + i * 7 % 5), 4 + i * 5 % 7, 5e4 * (1 + i * 3 % 4));
  const auto shares = pace_shares(noise);
  ASSERT_TRUE(shares);
  EXPECT_TRUE(shares->low < 0.5 && shares->high > 0.5) << shares->low << " " << shares->high;
}

/// Those of least squares without a constant, worked out by another program.
TEST(PaceShares, HaveBoundsOfGroupsThatScatter) {
  Pace pace;
  for (int i = 0; i < 8; ++i) {
    const double requests = 4 + i * 5 % 7, bytes = 5e4 * (1 + i * 3 % 4);
    add_group(pace, 0.02 * requests + 2e-6 * bytes + 0.01 * (i * 3 % 5), requests, bytes);
  }
  const auto shares = pace_shares(pace);
  ASSERT_TRUE(shares);
  EXPECT_NEAR(shares->bytes, 0.634425493716, 1e-9);
  EXPECT_NEAR(shares->low, 0.555852010377, 1e-6);
  EXPECT_NEAR(shares->high, 0.712998977056, 1e-6);
  Pace more;  // requests of which more take less time: bytes explain all
  for (int i = 0; i < 8; ++i)
    add_group(more, 2.0 * (1 + i % 4) - 0.01 * (4 + i * 5 % 7), 4 + i * 5 % 7, 5e4 * (1 + i % 4));
  const auto all = pace_shares(more);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->bytes, 1);
  EXPECT_EQ(all->low, 1);
  EXPECT_EQ(all->high, 1);
}

TEST(Grouping, MakesGroupsOfEightRequestsAndAFewLooks) {
  struct Look {
    double at_s;
    std::uint64_t reads;
  };
  const auto group = [](std::vector<Look> looks, std::uint64_t bytes = 4096) {
    Grouping grouping;
    for (const Look& look : looks)
      grouping.look(look.at_s, {look.reads, look.reads == 0 ? 0 : 4096 + look.reads * bytes});
    const Pace found = grouping.take();
    EXPECT_LE(found.groups, 1);
    return std::pair(found.n, std::round(found.t * 1000));
  };
  using Group = std::pair<double, double>;  // requests, milliseconds
  EXPECT_EQ(group({{0, 0}, {0.04, 1}, {0.06, 20}, {0.1, 21}}), Group(20, 60)) << "0.05 s at least";
  EXPECT_EQ(group({{0, 0}, {0.01, 1}, {0.2, 8}}), Group(0, 0)) << "seven requests";
  EXPECT_EQ(group({{0, 0}, {0.01, 1}, {0.2, 8}, {0.3, 9}}), Group(8, 290));
  EXPECT_EQ(group({{0, 0}, {0.01, 1}, {0.04, 12}, {0.07, 12}, {0.09, 13}}), Group(12, 80)) << "it ends with an answer";
  EXPECT_EQ(group({{0, 0}, {0.01, 1}, {4.5, 1}, {4.6, 2}, {4.7, 10}}), Group(8, 100)) << "nobody asked for 4 s";
  EXPECT_EQ(group({{0, 0}, {0.01, 1}, {5, 20}}), Group(0, 0)) << "nor looked";
  EXPECT_EQ(group({{0, 0}, {0.01, 1}, {0.2, 20}}, 0), Group(0, 0)) << "requests without bytes";
}

TEST(Grouping, LeavesOutUnrequestedBytes) {
  Grouping grouping;
  grouping.look(0, {0, 0});
  grouping.look(0.01, {1, 4096});
  grouping.look(0.5, {1, 4096});
  grouping.look(4.5, {1, 4096});
  grouping.look(4.6, {9, 9 * 4096});
  EXPECT_EQ(grouping.take().groups, 0);
  grouping.look(4.61, {10, 10 * 4096});
  grouping.look(4.7, {20, 20 * 4096});
  const Pace seen = grouping.take();
  EXPECT_EQ(seen.groups, 1);
  EXPECT_EQ(seen.n, 11);
  EXPECT_NEAR(seen.t, 0.1, 1e-9);
  EXPECT_EQ(grouping.take().groups, 0);
}

TEST(ParseAnswered, ReadsTheKernelsLine) {
  const auto answered = parse_answered("     118        3     9440       52        0        0 0 0 0 1 2\n");
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->reads, 118u);
  EXPECT_EQ(answered->bytes, 9440u * 512);
  EXPECT_FALSE(parse_answered(""));
  EXPECT_FALSE(parse_answered("12 x"));
}

TEST(DevicePaces, FollowsThoseThatMostIsReadFrom) {
  testing::TemporaryFolder folder;
  const auto put = [&](const std::string& device, int reads) {
    std::filesystem::create_directories(folder.path() + "/dev/block/" + device);
    std::ofstream(folder.path() + "/dev/block/" + device + "/stat")
        << reads << " 0 " << reads * 8 << " 5 0 0 0 0 0 1 2\n";
  };
  DevicePaces paces(folder.path());
  std::map<std::string, std::uint64_t> reads;
  for (int i = 0; i < 6; ++i) {
    put("8:" + std::to_string(i), 1);
    reads["8:" + std::to_string(i)] = static_cast<std::uint64_t>(i);
  }
  reads["9:9"] = 99;  // there is no such file
  paces.follow(reads);
  for (int at = 0; at < 5; ++at) {
    paces.look(at * 0.1);
    for (int i = 0; i < 6; ++i) put("8:" + std::to_string(i), 10 * (at + 1) + at % 2);
  }
  EXPECT_EQ(paces.take("8:5").groups, 4);
  EXPECT_EQ(paces.take("8:2").groups, 0) << "three others are read from more, and a file that is not there";
  EXPECT_EQ(paces.take("8:0").groups, 0);
  EXPECT_EQ(paces.take("9:9").groups, 0);
  double now_s = 10;
  int so_far = 1000;
  const auto groups = [&](const std::map<std::string, std::uint64_t>& of, const std::string& device) {
    paces.follow(of);
    for (int at = 0; at < 5; ++at) {
      so_far += 10 + at % 2;
      for (int i = 0; i < 6; ++i) put("8:" + std::to_string(i), so_far);
      paces.look(now_s += 0.1);
    }
    return paces.take(device).groups;
  };
  EXPECT_GT(groups({{"8:1", 1}, {"8:0", 0}}, "8:1"), 0);
  EXPECT_EQ(groups({{"8:1", 1}, {"8:0", 0}}, "8:0"), 0) << "nothing is read from it";
  EXPECT_GT(groups({{"8:1", 1}}, "8:5"), 0) << "one that is idle stays";
  EXPECT_EQ(groups({{"8:0", 1}}, "8:5"), 0) << "as long as there is room";
}

}  // namespace
}  // namespace headrace::observe::observe_pace_test
