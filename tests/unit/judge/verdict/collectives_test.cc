// What an all-reduce should take on GPUs with NVLinks: never promised where nothing is known.
#include "harness/judge/expectations/collectives.h"

#include <gtest/gtest.h>

#include "harness/job/all_reduce_interval.h"

namespace headrace::expectations {
namespace {

using job::kLaunch, job::kSlowestLatency, job::kSoundShare;

Part links(const std::string& name, const std::string& model, double rate) {
  return {.kind = "nvlink", .name = name, .model = model, .rate = rate, .how = "18 links of " + model};
}

std::vector<Part> eight(const std::string& model, double rate) {
  std::vector<Part> parts{{.kind = "memory", .name = "memory"}};
  for (int i = 0; i < 8; ++i) parts.push_back(links("gpu" + std::to_string(i), model, rate));
  return parts;
}

judging::RecordedPoint measured(double seconds, unsigned nodes = 1, unsigned groups = 1) {
  judging::RecordedPoint point;
  point.id = "nccl_all_reduce/message_size:1GiB";
  point.workload = "nccl_all_reduce";
  point.params["message_size"] = std::uint64_t{1} << 30;
  point.group = GroupShape{.ranks = 8, .nodes = nodes, .groups = groups};
  point.repetitions.emplace_back().metrics["time_s"] = seconds;
  return point;
}

TEST(AllReduce, OfEightH100IsBoundByLatencyThenByLinks) {
  const auto prospect = all_reduce_prospect(eight("NVLink 4", 450e9));
  ASSERT_TRUE(prospect);
  EXPECT_EQ(prospect->gpus, 8u);
  ASSERT_EQ(prospect->sizes.size(), 8u);
  EXPECT_EQ(prospect->sizes.front().bytes, 1024);
  EXPECT_EQ(prospect->sizes[1].bytes, 8192);
  const AllReduceTime& small = prospect->sizes.front();
  EXPECT_NEAR(small.fastest_s, 15e-6, 0.2e-6) << "LL";
  EXPECT_NEAR((small.slowest_s - kLaunch) / small.fastest_s, kSlowestLatency, 0.01);
  const auto large = all_reduce_time(links("gpu0", "NVLink 4", 450e9), {.gpus = 8}, 8.0 * (1 << 30));
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->busbw(large->fastest_s), 490e9, 5e9) << "NVLink SHARP gives more than a ring";
  // The fastest has 8 / 9 of the links, the slowest eight channels of 40 of 370.8 GB/s.
  EXPECT_NEAR(large->slowest_s / large->fastest_s, 8.0 / 9 / (8 * 40 / 370.8) / kSoundShare, 0.01);
  double last = 0;
  for (const AllReduceTime& s : prospect->sizes) {
    EXPECT_GT(s.fastest_s, last);
    EXPECT_GT(s.slowest_s, s.fastest_s);
    last = s.fastest_s;
  }
}

TEST(AllReduce, OfA100HasNoNvls) {
  const auto large = all_reduce_time(links("gpu0", "NVLink 3", 300e9), {.gpus = 8}, 8.0 * (1 << 30));
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->busbw(large->fastest_s), 240e9, 2e9);
}

TEST(AllReduce, OfB200IsOfItsOwnGenerationAndRate) {
  const auto large = all_reduce_time(links("gpu0", "NVLink 5", 900e9), {.gpus = 8}, 1 << 30);
  ASSERT_TRUE(large);
  const auto by_hand = job::all_reduce_interval(
      {.ranks = 8, .nodes = 1, .generation = 2, .intra = 900e9 * 40.1 / 50, .network = 0}, 1 << 30);
  EXPECT_DOUBLE_EQ(large->fastest_s, by_hand.fastest.value());
}

TEST(AllReduce, IsNotPromisedWhereNothingIsKnown) {
  EXPECT_FALSE(all_reduce_prospect(eight("NVLink 2", 150e9))) << "no constants of its generation";
  EXPECT_FALSE(all_reduce_prospect(eight("NVLink 4", 0))) << "no rate";
  EXPECT_FALSE(all_reduce_prospect({}));
  EXPECT_FALSE(all_reduce_time(links("gpu0", "NVLink 4", 450e9), {.gpus = 8, .nodes = 0}, 1e9)) << "on no node";
  EXPECT_FALSE(all_reduce_time(links("gpu0", "NVLink 4", 450e9), {.gpus = 1}, 1e9)) << "of one GPU";
  EXPECT_TRUE(all_reduce_time(links("gpu0", "NVLink 4", 450e9), {.gpus = 2}, 1e9));
  std::vector<Part> one = eight("NVLink 4", 450e9), mixed = one;
  one.resize(2);
  EXPECT_FALSE(all_reduce_prospect(one)) << "one GPU";
  one.push_back(one.back());
  EXPECT_TRUE(all_reduce_prospect(one)) << "two of them";
  const judging::RecordedPoint beside = [] {
    judging::RecordedPoint point = measured(4e-3);
    point.group->ranks = 2;
    return point;
  }();
  EXPECT_EQ(measured_all_reduces(one, std::span(&beside, 1)).size(), 1u);
  mixed.back().rate /= 2;
  EXPECT_FALSE(all_reduce_prospect(mixed)) << "a link is down";
}

TEST(AllReduce, MeasurementIsShownWithItsInterval) {
  const std::vector<Part> parts = eight("NVLink 4", 450e9);
  const auto standing = [&](const judging::RecordedPoint& point) -> std::string {
    const auto all = measured_all_reduces(parts, std::span(&point, 1));
    return all.size() == 1 ? std::string(all.front().standing()) : "none";
  };
  EXPECT_EQ(standing(measured(4.04e-3)), "within") << "as published of eight H100";
  const judging::RecordedPoint of_one_node = measured(4.04e-3);
  EXPECT_EQ(measured_all_reduces(parts, std::span(&of_one_node, 1)).at(0).links, "");
  EXPECT_EQ(standing(measured(40e-3)), "slower") << "as over the host's network";
  EXPECT_EQ(standing(measured(1e-3)), "faster") << "not of this size, or of this machine";
  EXPECT_EQ(standing(measured(4.04e-3, 2)), "none") << "the network is not known";
  EXPECT_EQ(standing(measured(4.04e-3, 1, 2)), "none") << "groups share the links";
  judging::RecordedPoint other = measured(4.04e-3);
  other.workload = "nccl_broadcast";
  EXPECT_EQ(standing(other), "none");
  other = measured(4.04e-3);
  other.params.clear();
  EXPECT_EQ(standing(other), "none") << "of what size, is not recorded";
  other = measured(4.04e-3);
  other.repetitions.clear();
  EXPECT_EQ(standing(other), "none") << "nothing was measured";
  other = measured(4.04e-3);
  other.group.reset();
  EXPECT_EQ(standing(other), "none") << "by how many, is not recorded";
  const judging::RecordedPoint one = measured(4.04e-3);
  EXPECT_TRUE(measured_all_reduces({}, std::span(&one, 1)).empty());
}

TEST(AllReduce, OverNodesATimeOfTcpIsNamed) {
  std::vector<Part> parts = eight("NVLink 4", 450e9);
  for (int i = 0; i < 8; ++i)
    parts.push_back({.kind = "rdma_port", .name = "mlx5_" + std::to_string(i), .rate = 50e9, .up = i != 7});
  parts.push_back({.kind = "rdma_port", .name = "mlx5_8", .rate = 0});
  const judging::RecordedPoint fast = measured(0.5, 2);  // four GPUs of each node: half of its NICs
  const auto alone = measured_all_reduces(parts, std::span(&fast, 1)).at(0);
  EXPECT_EQ(alone.transport, "") << "no Ethernet is there";
  const auto by_hand = job::all_reduce_interval(
      {.ranks = 8, .nodes = 2, .generation = 1, .intra = 450e9 * 20.6 / 25, .network = 0.96 * 0.5 * 7 * 50e9}, 1 << 30);
  EXPECT_DOUBLE_EQ(alone.expected.fastest_s, by_hand.fastest.value());
  parts.push_back({.kind = "ethernet_port", .name = "eth0", .rate = 3.125e9});
  const auto of = [&](double seconds) {
    judging::RecordedPoint point = measured(seconds, 2);
    point.group->ranks = 16;
    return measured_all_reduces(parts, std::span(&point, 1)).at(0);
  };
  EXPECT_EQ(of(4.39e-3).standing(), "within") << "as published of two nodes of eight H200";
  EXPECT_EQ(of(4.39e-3).transport, "");
  EXPECT_EQ(of(4.39e-3).links, "7 RDMA ports, 2800 Gbit/s") << "one is down";
  EXPECT_NE(of(0.5).transport.find("may have fallen back from RDMA to TCP"), std::string::npos) << of(0.5).transport;
  EXPECT_NE(of(13.4e-3).transport.find("RDMA is in use"), std::string::npos) << "slow links, as published of others";
  parts.back().rate = 350e9;
  EXPECT_EQ(of(0.5).standing(), "slower");
  EXPECT_EQ(of(0.5).transport, "") << "TCP would be as fast";
  std::erase_if(parts, [](const Part& p) { return p.kind == "rdma_port"; });
  EXPECT_EQ(of(4.39e-3).links, "1 Ethernet port, 2800 Gbit/s");
  EXPECT_EQ(of(0.5).transport, "") << "TCP is all there is";
  parts.push_back({.kind = "rdma_port", .name = "mlx5_0", .rate = 350e9});
  EXPECT_EQ(of(4.39e-3).links, "1 RDMA port, 2800 Gbit/s");
  judging::RecordedPoint uneven = measured(4.39e-3, 3);
  EXPECT_TRUE(measured_all_reduces(parts, std::span(&uneven, 1)).empty()) << "8 ranks on 3 nodes";
}

}  // namespace
}  // namespace headrace::expectations
