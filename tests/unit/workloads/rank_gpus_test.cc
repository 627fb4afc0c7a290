#include "workloads/network/rank_gpus.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "harness/base/error.h"
#include "harness/workload/ranks/member.h"

namespace headrace::network::rank_gpus_test {
namespace {

using Chosen = std::vector<unsigned>;

Chosen share(const std::vector<std::string>& hosts, const std::vector<std::string>& seen) {
  return share_gpus_out(ranks::places_of(hosts), seen);
}

TEST(RankGpus, EachTakesTheOneOfItsPlaceWhereAllSeeAll) {
  EXPECT_EQ(share({"a", "a", "b", "b"}, {"A B", "A B", "C D", "C D"}), (Chosen{0, 1, 0, 1}));
  EXPECT_EQ(share({"a", "b", "a", "b"}, {"A B", "C D", "A B", "C D"}), (Chosen{0, 0, 1, 1}));
}

TEST(RankGpus, EachTakesItsOwnWhereItSeesNoOther) {
  EXPECT_EQ(share({"a", "a", "a"}, {"A", "B", "C"}), (Chosen{0, 0, 0}));
  EXPECT_EQ(share({"a", "a"}, {"A B", "C D"}), (Chosen{0, 0}));
}

TEST(RankGpus, OneMakesRoomForAnotherThatSeesLess) {
  EXPECT_EQ(share({"a", "a"}, {"A B", "A"}), (Chosen{1, 0}));
  EXPECT_EQ(share({"a", "a", "a"}, {"A B", "B C", "A"}), (Chosen{1, 1, 0}));
}

TEST(RankGpus, NodesOfDifferentHostsMayNameTheirsAlike) { EXPECT_EQ(share({"a", "b"}, {"A", "A"}), (Chosen{0, 0})); }

TEST(RankGpus, ReportTheNodeThatHasTooFew) {
  const std::string seven = "A B C D E F G";
  try {
    share(std::vector<std::string>(8, "node2"), std::vector<std::string>(8, seven));
    FAIL() << "eight ranks, seven GPUs";
  } catch (const Unsupported& e) {
    EXPECT_STREQ(e.what(), "8 ranks share 7 GPUs of node2: NCCL wants a GPU for each");
  }
  EXPECT_THROW(share({"a", "a", "a"}, {"A", "A B", "B"}), Unsupported);
}

}  // namespace
}  // namespace headrace::network::rank_gpus_test
