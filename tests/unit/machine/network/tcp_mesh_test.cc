#include "harness/workload/network/tcp_mesh.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "harness/record/pair_matrix.h"
#include "tests/unit/thread_ranks.h"

namespace headrace::tcp_mesh_test {
namespace {

TEST(TcpMesh, ConnectsEveryPairWithEveryStream) {
  on_ranks({"a", "b", "c", "d"}, 10, [](std::unique_ptr<Ranks> ranks) {
    std::vector<std::pair<unsigned, unsigned>> pairs;
    for (const auto& round : all_pairs_rounds(4)) pairs.insert(pairs.end(), round.begin(), round.end());
    TcpMesh::Options three;
    three.streams = 3;
    TcpMesh mesh(*ranks, ranks->everyone(), pairs, three);
    for (unsigned partner = 0; partner < 4; ++partner) {
      if (partner == ranks->rank()) continue;
      for (unsigned s = 0; s < 3; ++s) {
        const unsigned char word[2] = {static_cast<unsigned char>(ranks->rank()), static_cast<unsigned char>(s)};
        ASSERT_EQ(::send(mesh.socket(partner, s), word, 2, 0), 2);
      }
      for (unsigned s = 0; s < 3; ++s) {
        unsigned char word[2] = {};
        ASSERT_EQ(::recv(mesh.socket(partner, s), word, 2, MSG_WAITALL), 2);
        EXPECT_EQ(word[0], partner);
        EXPECT_EQ(word[1], s);
      }
    }
    ranks->barrier("the end", 10);
  });
}

TEST(TcpMesh, RingsWhereEachCallsTheNext) {
  on_ranks({"a", "b", "c"}, 10, [](std::unique_ptr<Ranks> ranks) {
    const unsigned n = 3, next = (ranks->rank() + 1) % n, before = (ranks->rank() + n - 1) % n;
    TcpMesh mesh(*ranks, ranks->everyone(), {{0, 1}, {1, 2}, {2, 0}}, {});
    EXPECT_GE(mesh.socket(next, 0), 0);
    EXPECT_GE(mesh.socket(before, 0), 0);
    ranks->barrier("the end", 10);
  });
}

TEST(TcpMesh, LeavesOutAPairThatCannotBeConnected) {
  on_ranks({"a", "b", "c"}, 10, [](std::unique_ptr<Ranks> ranks) {
    TcpMesh::Options options;
    options.timeout_s = 1;
    options.partial = true;
    // Rank 1 waits for a call of rank 0 that rank 0 knows nothing of.
    const bool differs = ranks->rank() == 0;
    const std::vector<std::pair<unsigned, unsigned>> pairs{{0, 1}, {0, 2}, {1, 2}}, fewer{{0, 2}, {1, 2}};
    TcpMesh mesh(*ranks, ranks->everyone(), differs ? fewer : pairs, options);
    if (differs) return ranks->barrier("the end", 10);
    ASSERT_EQ(mesh.unreached().size(), 1u);
    EXPECT_EQ(mesh.unreached()[0].a, 0u);
    EXPECT_EQ(mesh.unreached()[0].b, 1u);
    EXPECT_NE(mesh.unreached()[0].why.find("rank 1 (b) no connection from rank 0 (a)"), std::string::npos)
        << mesh.unreached()[0].why;
    EXPECT_GE(mesh.socket(ranks->rank() == 1 ? 2 : 1, 0), 0);
    if (ranks->rank() == 1) {
      EXPECT_THROW(mesh.socket(0, 0), std::out_of_range);
    }
    ranks->barrier("the end", 10);
  });
}

TEST(TcpMesh, ReportsRanksWithoutTheInterface) {
  on_ranks({"a", "b"}, 10, [](std::unique_ptr<Ranks> ranks) {
    TcpMesh::Options options;
    options.timeout_s = 0.5;
    if (ranks->rank() == 1) options.interface = "nosuch0";
    try {
      TcpMesh(*ranks, ranks->everyone(), {{0, 1}}, options);
      ADD_FAILURE() << "connected";
    } catch (const RunError& e) {
      const std::string why = e.what();
      EXPECT_NE(why.find("rank 1 (b)"), std::string::npos) << why;
    }
    ranks->barrier("the end", 10);
  });
}

}  // namespace
}  // namespace headrace::tcp_mesh_test
