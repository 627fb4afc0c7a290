// Lines as several versions of NCCL write them; prefixes of launchers and other programs' lines stand between.
#include "harness/backends/nccl_log.h"

#include <gtest/gtest.h>

namespace headrace::nccl_log_test {
namespace {

std::map<std::string, std::string> facts(std::string_view text) {
  std::map<std::string, std::string> all;
  for (auto& [name, value] : facts_of(read_nccl_log(text))) all[name] = value;
  return all;
}

/// 2.19: several nodes without RDMA.
TEST(NcclLog, OverSockets) {
  const auto reported = facts(R"(
instance-8g-96c-3:2744870:2744870 [0] NCCL INFO Bootstrap : Using ens7:10.128.0.32<0>
instance-8g-96c-3:2744870:2744870 [0] NCCL INFO cudaDriverVersion 12000
NCCL version 2.19.3+cuda12.3
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO NET/IB : No device found.
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO NET/Socket : Using [0]ens7:10.128.0.32<0>
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Using non-device net plugin version 0
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Using network Socket
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Channel 00/02 :    0   1
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/0
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0
instance-8g-96c-3:2744870:2745046 [0] NCCL INFO Connected all rings
)");
  EXPECT_EQ(reported.at("transport"), "TCP");
  EXPECT_EQ(reported.at("connections"), "NET/Socket x1");
  EXPECT_EQ(reported.at("network"), "Socket");
  EXPECT_EQ(reported.at("interfaces"), "ens7:10.128.0.32<0>");
  EXPECT_EQ(reported.at("ring"), "0 1");
  EXPECT_EQ(reported.count("devices"), 0u);
  EXPECT_EQ(reported.count("algorithm"), 0u);
}

/// 2.12: no channel's connection index, no [send] of P2P, what is chosen by number.
TEST(NcclLog, OverInfinibandWithGpuDirect) {
  const auto reported = facts(
      "[1,0]<stdout>:nodea:26799:27030 [4] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB "
      "ib0:10.0.0.1<0>\n"
      "nodea:26799:27030 [4] NCCL INFO Channel 01 : 12[8d000] -> 4[89000] [receive] via NET/IB/0/GDRDMA\n"
      "nodea:26799:27031 [5] NCCL INFO Channel 01 : 5[8e000] -> 4[89000] via P2P/direct pointer/read\n"
      "nodea:26799:27030 [4] NCCL INFO Channel 00 : 4[89000] -> 12[8d000] [send] via NET/IB/0/GDRDMA\r\n"
      "nodea:26799:27030 [4] NCCL INFO Channel 01 : 4[89000] -> 12[8d000] [send] via NET/IB/0/GDRDMA\n"
      "nodea:26799:27025 [0] NCCL INFO 2 coll channels, 2 p2p channels, 1 p2p channels per peer\n"
      "nodea:26799:27025 [0] NCCL INFO 805306368 Bytes -> Algo 1 proto 2 time 3970.683594\n");
  EXPECT_EQ(reported.at("transport"), "InfiniBand with GPUDirect, P2P");
  EXPECT_EQ(reported.at("connections"), "NET/IB/GDRDMA x2, P2P/direct pointer x1");
  EXPECT_EQ(reported.at("devices"), "mlx5_0:1/IB, mlx5_1:1/IB");
  EXPECT_EQ(reported.at("algorithm"), "Ring");
  EXPECT_EQ(reported.at("protocol"), "Simple");
  EXPECT_EQ(reported.at("channels_made"), "2 coll channels, 2 p2p channels, 1 p2p channels per peer");
}

/// 2.20 to 2.30: words for what is chosen, NVLS, virtual devices, RoCE.
TEST(NcclLog, OverRoceAndNvlink) {
  const NcclLog log = read_nccl_log(
      "gpu-a3:47021:47095 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.4.2.31<0>\n"
      "gpu-a3:47021:47095 [0] NCCL INFO Using network IB\n"
      "gpu-a3:47021:47095 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n"
      "gpu-a3:47021:47095 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'\n"
      "gpu-a3:47021:47095 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)\n"
      "gpu-a3:47021:47095 [0] NCCL INFO comm 0x55cd1a0bf930 rank 0 nRanks 16 nNodes 2 localRanks 8 localRank 0 MNNVL "
      "0\n"
      "gpu-a3:47021:47095 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 12, bw 20.000000/20.000000, type NVL/PIX, "
      "sameChannels 1\n"
      "gpu-a3:47021:47095 [0] NCCL INFO Pattern 3, crossNic 0, nChannels 12, bw 40.000000/20.000000, type NVL/SYS, "
      "sameChannels 1\n"
      "gpu-a3:47021:47095 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "gpu-a3:47021:47095 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "gpu-a3:47021:47095 [0] NCCL INFO Channel 00 : 2[2] -> 3[3] via SHM/direct/direct\n"
      "gpu-a3:47021:47095 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(0)/GDRDMA/Shared\n"
      "gpu-a3:47021:47095 [0] NCCL INFO 24 coll channels, 16 collnet channels, 16 nvls channels, 32 p2p channels, 2 "
      "p2p channels per peer\n"
      "gpu-a3:47021:47095 [0] NCCL INFO AllReduce: 26214400 Bytes -> Algo NVLS_TREE proto SIMPLE "
      "channel{Lo..Hi}={0..15}\n");
  std::map<std::string, std::string> reported;
  for (auto& [name, value] : facts_of(log)) reported[name] = value;
  EXPECT_EQ(reported.at("transport"), "NVLink, NVLink SHARP, RoCE with GPUDirect, shared memory");
  EXPECT_EQ(reported.at("connections"), "P2P/CUMEM x2, NET/IB/GDRDMA x1, SHM x1");
  EXPECT_EQ(reported.at("gpu_direct"), "disabled for mlx5_1, enabled for mlx5_0");
  EXPECT_EQ(reported.at("nvls"), "available");
  EXPECT_EQ(reported.at("topology"), "16 ranks, 2 nodes, 8 on each");
  EXPECT_EQ(reported.at("paths"), "NVL/PIX");
  EXPECT_EQ(reported.at("algorithm"), "NVLSTree");
  EXPECT_EQ(reported.at("protocol"), "Simple");
  EXPECT_EQ(reported.at("channels"), "16");
  EXPECT_EQ(in_short(log), "NVLink, NVLink SHARP, RoCE with GPUDirect, shared memory; NVLSTree Simple");
}

/// A network plugin's name, and GPUs of one host without NVLink.
TEST(NcclLog, OverAPluginAndPcie) {
  const auto reported = facts(
      "host:1:2 [0] NCCL INFO Using network AWS Libfabric\n"
      "host:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 1, bw 12.0/12.0, type PHB/PIX, sameChannels 1\n"
      "host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"
      "hostname-test:987:1260 [7] NCCL INFO Channel 03/0 : 47[7] -> 39[7] [send] via NET/IBext_v8/2\n"
      "host:1:2 [0] NCCL INFO AllGather: 1048576 Bytes -> Algo Ring proto LL128 channel{Lo..Hi}={0..3}\n"
      "host:1:2 [0] NCCL INFO AllGather: 1048576 Bytes -> Algo PAT proto Simple channel{Lo..Hi}={0..3}\n");
  EXPECT_EQ(reported.at("transport"), "InfiniBand or RoCE, PCIe P2P");
  EXPECT_EQ(reported.at("network"), "AWS Libfabric");
  EXPECT_EQ(reported.at("algorithm"), "PAT, Ring");
}

TEST(NcclLog, OtherTextSaysNothing) {
  EXPECT_TRUE(read_nccl_log("").empty());
  EXPECT_TRUE(read_nccl_log("a -> b via\nBytes -> Algo\nNET/IB : Using [\nnRanks nNodes x\nChannel 00/\n").empty());
}

TEST(NcclLog, GoesToOtherRanksAndBack) {
  const NcclLog a = read_nccl_log("x NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"),
                b = read_nccl_log(
                    "x NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0\n"
                    "x NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM\n");
  const NcclLog both = merged(a, from_words(to_words(b)));
  EXPECT_EQ(both.said.at("connections").at("P2P/CUMEM"), 2u);
  EXPECT_EQ(both.said.at("connections").at("NET/Socket"), 1u);
  EXPECT_TRUE(from_words("nonsense\n\t\n").empty());
}

TEST(NcclLog, PairsOfGpuAndNicSymmetricKernelsAndNvlinkOverNodes) {
  const auto reported = facts(
      "n1:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB [RO]; OOB eth0:10.4.2.31<0>\n"
      "n1:1:2 [0] NCCL INFO NET/IB : Made virtual device [3] name=mlx5_4+mlx5_5 speed=800000 ndevs=2\n"
      "n1:1:2 [0] NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 4 (distance 9 > 5)\n"
      "n1:1:2 [0] NCCL INFO GPU Direct RDMA Enabled for GPU 0 / HCA 0 (distance 4 <= 5), read 0 mode Default\n"
      "n1:1:2 [0] NCCL INFO Channel 00/0 : 4[4] -> 8[0] [receive] via NET/IB/0/GDRDMA\n"
      "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(0)/GDRDMA\n"
      "n1:1:2 [1] NCCL INFO Channel 01/0 : 1[1] -> 9[1] [send] via NET/IB/3(1)/GDRDMA(PCI)/Shared\n"
      "[1,0]<stdout>:n1:1:2 [2] NCCL INFO Channel 02/0 : 2[2] -> 10[2] [send] via NET/IB/2(2)\n"
      "n1:1:2 [2] NCCL INFO Channel 02/0 : 10[2] -> 2[3] [receive] via NET/Libfabric/7\n"
      "n1:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 1\n"
      "n1:1:2 [0] NCCL INFO AllReduce [Symmetric]: 4194304 Bytes -> Kernel AllReduce_AGxLLMC_R nchannels 32\n");
  EXPECT_EQ(reported.at("gpu_direct_pairs"), "gpu0 by mlx5_0:1, gpu1 by mlx5_4+mlx5_5") << "of those that carry data";
  EXPECT_EQ(reported.at("pairs_by_host_memory"), "gpu2 by mlx5_2:1 of n1, gpu3 by NIC 7 of n1");
  EXPECT_FALSE(reported.contains("gpu_direct"));
  EXPECT_EQ(reported.at("nvlink_over_nodes"), "yes");
  EXPECT_EQ(reported.at("algorithm"), "symmetric AllReduce_AGxLLMC_R");
}

}  // namespace
}  // namespace headrace::nccl_log_test
