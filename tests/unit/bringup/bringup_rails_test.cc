// Rails of a bring-up, and what the ports of RDMA among them count.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "harness/bringup/blame/port_errors.h"
#include "harness/bringup/blame/topology.h"
#include "harness/bringup/rails.h"
#include "tests/unit/bringup_record.h"

namespace headrace::bringup::bringup_rails_test {
namespace {

/// That many nodes "a", "b"... with RDMA ports "nic0/1"..., in their first session; of each how many.
Record with_ports(const std::vector<unsigned>& ports) {
  Record record;
  for (unsigned node = 0; node < ports.size(); ++node) {
    NodeRecord& one = record.nodes.emplace_back();
    one.host.name = std::string(1, static_cast<char>('a' + node));
    one.facts.emplace();
    one.facts->rdma_counters = true;
    for (unsigned port = 0; port < ports[node]; ++port)
      one.facts->rdma_ports.push_back({fmt::format("nic{}/1", port), ""});
    if (ports[node] == 0) one.facts->no_rdma = "no RDMA device";
  }
  record.sessions.emplace_back();
  std::vector<unsigned> all(ports.size());
  std::iota(all.begin(), all.end(), 0u);
  set_rdma_rails(record, all);
  return record;
}

TEST(BringUpRails, MostNodesSayHowManyPortsAreRails) {
  Record record = with_ports({2, 2, 1, 2});
  EXPECT_EQ(rails(record), 3u);
  EXPECT_EQ(rail_name(record, 0, 0), "TCP");
  EXPECT_EQ(end_name(record, 1, 2), "b nic1/1");
  EXPECT_TRUE(has_rail(record, 2, 1));
  EXPECT_FALSE(has_rail(record, 2, 2));
  ASSERT_EQ(record.nodes[2].differences.size(), 1u);
  EXPECT_TRUE(record.nodes[2].differences[0].fault);
  EXPECT_EQ(record.nodes[2].differences[0].reported, "1 RDMA ports, none at port 1; the others: 2");
  const std::vector<Topology> networks = topologies_of(record);
  ASSERT_EQ(networks.size(), 2u);
  EXPECT_EQ(networks[0].rails, 1u);
  EXPECT_TRUE(networks[0].absent.empty());
  EXPECT_EQ(networks[1].rails, 2u);
  EXPECT_EQ(networks[1].absent, (std::set<unsigned>{4 + 2}));
  EXPECT_TRUE(record.skipped.empty());
}

TEST(BringUpRails, TwoOfFiveNodesAreNoMajority) {
  Record record = with_ports({2, 2, 1, 3, 4});
  EXPECT_EQ(rails(record), 1u);
  for (const NodeRecord& node : record.nodes) EXPECT_TRUE(node.differences.empty());
  EXPECT_EQ(record.skipped.size(), 1u);
}

/// A node whose ports are at these places: 'a' is "0000:0a:00.0/1"; they are called as the kernel does, in order.
void put_ports(NodeRecord& node, const std::string& places) {
  node.facts.emplace();
  node.facts->rdma_counters = true;
  for (const char place : places)
    node.facts->rdma_ports.push_back(
        {fmt::format("mlx5_{}/1", node.facts->rdma_ports.size()), fmt::format("0000:0{}:00.0/1", place)});
}

TEST(BringUpRails, PortsAreKnownByTheirPlaceAndNotByTheirTurn) {
  Record record = record_of("a\nb\nc\nd\n");
  for (unsigned node = 0; node < 4; ++node) put_ports(record.nodes[node], node == 2 ? "bc" : "abc");
  record.sessions.emplace_back();
  set_rdma_rails(record, {0, 1, 2, 3});
  ASSERT_EQ(rails(record), 4u);
  EXPECT_FALSE(has_rail(record, 2, 1));
  EXPECT_EQ(end_name(record, 2, 2), "c mlx5_0/1");  // its first one is the others' second
  EXPECT_EQ(end_name(record, 1, 2), "b mlx5_1/1");
  EXPECT_EQ(record.nodes[2].differences.at(0).reported, "2 RDMA ports, none at 0000:0a:00.0/1; the others: 3");
  // What a later session measures no more keeps its number, and the same ports are the same rails.
  for (NodeRecord& node : record.nodes) put_ports(node, "bcd");
  record.sessions.emplace_back();
  set_rdma_rails(record, {0, 1, 2, 3});
  EXPECT_EQ(rails(record), 5u);
  EXPECT_FALSE(has_rail(record, 0, 1));
  EXPECT_EQ(rail_name(record, 0, 2), "mlx5_0/1");
  EXPECT_EQ(rail_name(record, 0, 4), "mlx5_2/1");
  EXPECT_EQ(topologies_of(record)[1].rails, 4u);
}

TEST(BringUpRails, AnotherKindOfMachineHasItsPortsElsewhere) {
  Record record = record_of("a\nb\nc\nd rdma=none\n");
  for (unsigned node = 0; node < 4; ++node) put_ports(record.nodes[node], node == 1 ? "de" : "ab");
  record.sessions.emplace_back();
  set_rdma_rails(record, {0, 1, 2, 3});
  EXPECT_TRUE(has_rail(record, 1, 2));
  EXPECT_EQ(end_name(record, 1, 2), "b mlx5_1/1");
  EXPECT_FALSE(has_rail(record, 3, 1));
  for (const NodeRecord& node : record.nodes) EXPECT_TRUE(node.differences.empty());
}

TEST(BringUpRails, AcceptedNodesReportHowManyPortsRepairedOnesOughtToHave) {
  Record record = record_of("a\nb\nc\nd\ne\n");
  for (unsigned node = 0; node < 5; ++node) put_ports(record.nodes[node], node < 3 ? "" : "ab");
  for (const unsigned accepted : {3, 4}) record.nodes[accepted].state = NodeState::accepted;
  record.sessions.emplace_back().retest = {0, 1, 2};
  set_rdma_rails(record, {0, 1, 2, 3, 4});
  EXPECT_EQ(rails(record), 3u);
  for (const unsigned repaired : {0, 1, 2}) EXPECT_EQ(record.nodes[repaired].differences.size(), 1u);
}

TEST(BringUpRails, WithPortsOnFewNodesTheReasonIsReported) {
  const auto why = [](Record record) {
    EXPECT_EQ(rails(record), 1u);
    EXPECT_EQ(rail_name(record, 0, 0), "");
    return record.skipped.empty() ? "" : record.skipped.back().why;
  };
  EXPECT_EQ(why(with_ports({0, 0, 1})), "no RDMA device");
  EXPECT_EQ(why(with_ports({1, 0, 0})), "no RDMA device");
  EXPECT_EQ(why(with_ports({1, 2, 0})), "no number of ports is usual: 1 nodes have 0, 1 nodes have 1, 1 nodes have 2");
  Record without = with_ports({0, 0, 0});
  without.skipped.clear();
  without.measuring.no_rdma = true;
  set_rdma_rails(without, {0, 1, 2});
  EXPECT_EQ(why(without), "--no-rdma");
}

TEST(BringUpRails, PortsThatReportNoCountersAreNamed) {
  Record record = with_ports({1, 1, 1});
  for (NodeRecord& node : record.nodes) node.facts->rdma_counters = node.host.name != "b";
  set_rdma_rails(record, {0, 1, 2});
  ASSERT_EQ(record.skipped.size(), 1u);
  EXPECT_EQ(record.skipped[0].step, "counters of RDMA ports");
  EXPECT_NE(record.skipped[0].why.find("/sys shows none, or not all, on b,"), std::string::npos)
      << record.skipped[0].why;
}

/// Node `bad` counts an error at its port in that many of its meetings.
std::vector<Broken> counted(unsigned bad, unsigned times, unsigned others = 0) {
  Record record = with_ports({1, 1, 1, 1, 1, 1});
  unsigned left = times;
  for (unsigned a = 0; a < 6; ++a)
    for (unsigned b = a + 1; b < 6; ++b) {
      PairMeasured one{a, b, 1, {1e9, 1e9}, {0, 0}, 1e-6, 1e-6, 1e-6};
      if (left > 0 && (a == bad || b == bad)) {
        one.errors[a == bad ? 0 : 1]["symbol_error"] = 3;
        --left;
      }
      if (others > 0 && a < others) one.errors[0]["port_rcv_errors"] = 1;
      record.sessions.back().rounds.push_back({1, {one}, {}});
    }
  // As it is kept, and read again.
  return port_errors(record_from(record_json(record), "x.json"));
}

TEST(BringUpRails, APortThatCountsErrorsOfItsOwnIsBad) {
  const std::vector<Broken> found = counted(3, 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].fault.scope, Finding::Scope::nic);
  EXPECT_EQ(found[0].fault.a, 3u);
  EXPECT_EQ(found[0].fault.rail, 1u);
  EXPECT_EQ(found[0].why,
            "its port counted errors of its own in 4 of 5 pairs (symbol_error +12), and none of the 5 other ports any");
  EXPECT_TRUE(counted(3, 1).empty());     // once: somebody may have touched the cable
  EXPECT_TRUE(counted(3, 4, 3).empty());  // as many others do
}

}  // namespace
}  // namespace headrace::bringup::bringup_rails_test
