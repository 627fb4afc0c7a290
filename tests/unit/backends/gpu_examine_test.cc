// What doctor and the fingerprint report on GPUs, and of network cards near them.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/backends/loader.h"
#include "harness/machine/examine/examine_gpus.h"
#include "harness/machine/examine/fingerprint.h"
#include "tests/unit/host_gpu.h"

namespace headrace::system::gpu_examine_test {
namespace {

using Level = Finding::Level;

struct GpuExamine : ::testing::Test {
  std::vector<Finding> look(testing::HostGpuSettings gpu, const std::vector<NetworkLink>& links = {}) {
    testing::HostBackendSettings settings;
    settings.gpus = {std::move(gpu)};
    settings.no_files = "libcufile.so.0 not found: no GPUDirect Storage";
    node.backends().replace_gpu(std::make_unique<testing::HostGpuBackend>(settings));
    return examine_gpus(node.backends().gpu(), links);
  }
  static const Finding* find(const std::vector<Finding>& all, const std::string& subject) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.subject == subject; });
    return found == all.end() ? nullptr : &*found;
  }
  Node node{"/tmp/headrace-no-such-scratch"};
};

TEST_F(GpuExamine, AHealthyGpuIsGood) {
  const auto all = look({});
  ASSERT_TRUE(find(all, "gpu0"));
  EXPECT_EQ(find(all, "gpu0")->text, "Test GPU, 1.00 GiB");
  EXPECT_EQ(find(all, "gpu0 link")->level, Level::good);
  EXPECT_EQ(find(all, "gpu0 link")->text, "Gen5 x16; at most Gen5 x16");
  EXPECT_FALSE(find(all, "gpu0 clocks"));
  EXPECT_EQ(find(all, "cuFile")->level, Level::missing);
}

TEST_F(GpuExamine, MissingAccessToAGpuIsReported) {
  testing::HostGpuSettings gpu;
  gpu.facts.refuses = "a second process";
  auto all = look(gpu);
  ASSERT_TRUE(find(all, "gpu0 compute mode"));
  EXPECT_EQ(find(all, "gpu0 compute mode")->text, "exclusive process");
  EXPECT_EQ(find(all, "gpu0 compute mode")->level, Level::note);
  gpu.facts.refuses = "all processes";
  all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 compute mode")->level, Level::warning);
  EXPECT_FALSE(find(look({}), "gpu0 compute mode"));
}

TEST_F(GpuExamine, ASleepingLinkIsReportedAndANarrowOneWarnedOf) {
  testing::HostGpuSettings gpu;
  gpu.state.link = {1, 16};
  EXPECT_EQ(find(look(gpu), "gpu0 link")->level, Level::note);
  gpu.state.link = {5, 8};
  const auto all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 link")->level, Level::warning);
  EXPECT_NE(find(all, "gpu0 link")->advice, "");
  gpu.state.link = gpu.facts.link_max = {};
  EXPECT_FALSE(find(look(gpu), "gpu0 link"));
}

TEST_F(GpuExamine, ClocksErrorsAndSlices) {
  testing::HostGpuSettings gpu;
  gpu.state.held_back = "power limit";
  EXPECT_EQ(find(look(gpu), "gpu0 clocks")->level, Level::note) << "where sound GPUs work";
  gpu.state.held_back = "power limit, power brake";
  gpu.state.ecc_uncorrected = 2;
  gpu.state.replays = 7;
  gpu.facts.slice = true;
  const auto all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 clocks")->text, "held back: power limit, power brake");
  EXPECT_EQ(find(all, "gpu0 clocks")->level, Level::warning);
  EXPECT_EQ(find(all, "gpu0 memory")->level, Level::warning);
  EXPECT_EQ(find(all, "gpu0 replays")->level, Level::note);
  EXPECT_NE(find(all, "gpu0")->advice.find("MIG"), std::string::npos);
}

TEST_F(GpuExamine, SharedHostMemoryMakesPciExpressMeaningless) {
  testing::HostGpuSettings gpu;
  gpu.facts.coherent = true;
  gpu.facts.link_max = gpu.state.link = {1, 1};  // what drivers give then
  auto all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 link")->level, Level::note);
  EXPECT_EQ(find(all, "gpu0 link")->text, "NVLink-C2C; the driver does not report its rate");
  gpu.facts.c2c = {.count = 10, .most = 10, .rate = 447.12e9};
  all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 link")->level, Level::good);
  EXPECT_EQ(find(all, "gpu0 link")->text, "NVLink-C2C, 10 of 10 links, 447 GB/s");
  gpu.facts.c2c = {.count = 9, .most = 10, .rate = 402.4e9};
  EXPECT_EQ(find(look(gpu), "gpu0 link")->level, Level::warning);
  const Fingerprint machine = fingerprint("/tmp", node);
  const auto section =
      std::find_if(machine.begin(), machine.end(), [](const auto& one) { return one.first == "gpu0"; });
  EXPECT_EQ(std::count_if(section->second.begin(), section->second.end(),
                          [](const auto& fact) { return fact.first.starts_with("link_"); }),
            0);
  EXPECT_EQ(std::count(section->second.begin(), section->second.end(),
                       std::pair<std::string, std::string>("c2c_links", "9 of 10")),
            1);
}

TEST_F(GpuExamine, NvLinksThatAreDownAndSwitchesThatAreNotSetUp) {
  testing::HostGpuSettings gpu;
  EXPECT_FALSE(find(look(gpu), "gpu0 NVLinks"));
  gpu.facts.nvlinks = {.count = 18, .most = 18, .generation = 4, .each = 26.562e9, .to_switch = true, .ends = {}};
  auto all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 NVLinks")->level, Level::good);
  EXPECT_EQ(find(all, "gpu0 NVLinks")->text, "18 of 18 up, generation 4, 26.6 GB/s each, to switches");
  gpu.facts.nvlinks.count = 16;
  gpu.facts.fabric = "in progress";
  all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 NVLinks")->level, Level::warning);
  EXPECT_EQ(find(all, "gpu0 fabric")->level, Level::warning);
  EXPECT_NE(find(all, "gpu0 fabric")->advice.find("fabricmanager"), std::string::npos);
  gpu.facts.fabric = "degraded bandwidth";
  all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 fabric")->text, "the switches between GPUs: degraded bandwidth");
  EXPECT_NE(find(all, "gpu0 fabric")->advice.find("drain the node"), std::string::npos);
}

TEST_F(GpuExamine, ACardWithoutABridgeIsNotedAndABoardWithoutLinksWarnedOf) {
  testing::HostGpuSettings gpu;
  gpu.facts.nvlinks = {.count = 0, .most = 12, .generation = 0, .each = 0, .to_switch = false, .ends = {}};
  for (const char* card : {"NVIDIA A100 80GB PCIe", "Tesla V100-PCIE-16GB", "NVIDIA H100 NVL", "NVIDIA H200 NVL",
                           "NVIDIA GeForce RTX 3090", "NVIDIA RTX A6000", "NVIDIA A40"}) {
    gpu.facts.name = card;
    EXPECT_EQ(find(look(gpu), "gpu0 NVLinks")->level, Level::note) << card;
  }
  for (const char* board : {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H20",
                            "NVIDIA B200", "NVIDIA GB200", "Tesla V100-SXM2-32GB"}) {
    gpu.facts.name = board;
    EXPECT_EQ(find(look(gpu), "gpu0 NVLinks")->level, Level::warning) << board;
  }
  gpu.facts.name = "NVIDIA A100 80GB PCIe";
  gpu.facts.nvlinks.count = 8;  // one of three bridges is loose
  EXPECT_EQ(find(look(gpu), "gpu0 NVLinks")->level, Level::warning);
}

TEST_F(GpuExamine, LoggedErrorsAndUnreadableLogs) {
  testing::HostBackendSettings settings;
  settings.gpus[0].facts.pci_address = "0000:17:00.0";
  testing::HostGpuBackend gpus(settings);
  const auto log = logged_errors(
      "4,1,9000000,-;NVRM: Xid (PCI:0000:17:00): 31, pid=5, name=python\n"
      "4,2,9000000,-;NVRM: Xid (PCI:0000:2a:00): 48, pid=5, DBE\n");
  const auto all = examine_gpus(gpus, {}, log);
  EXPECT_EQ(find(all, "gpu0 past errors")->level, Level::note) << "a program's";
  EXPECT_EQ(find(all, "GPU at 0000:2a:00.0 past errors")->level, Level::warning);
  EXPECT_EQ(find(examine_gpus(gpus, {}, std::nullopt), "past errors")->level, Level::note);
  EXPECT_FALSE(find(examine_gpus(gpus, {}), "past errors"));
}

TEST_F(GpuExamine, RowsXidsAndNvLinkErrors) {
  testing::HostGpuSettings gpu;
  gpu.state.remapped_rows = 2;
  gpu.state.nvlink_errors = 5;
  gpu.state.xids = {79};
  auto all = look(gpu);
  EXPECT_EQ(find(all, "gpu0 memory")->level, Level::note);
  EXPECT_EQ(find(all, "gpu0 NVLink errors")->level, Level::note);
  EXPECT_EQ(find(all, "gpu0 Xid")->text, "Xid 79 (the GPU has fallen off the bus)");
  gpu.state.remap_pending = true;
  EXPECT_EQ(find(look(gpu), "gpu0 memory")->level, Level::warning);
  gpu.state.remap_failed = true;
  EXPECT_NE(find(look(gpu), "gpu0 memory")->advice.find("replaced"), std::string::npos);
}

TEST_F(GpuExamine, TheFingerprintHasASectionPerGpu) {
  look({});
  const Fingerprint all = fingerprint("/tmp", node);
  const auto gpu = std::find_if(all.begin(), all.end(), [](const auto& section) { return section.first == "gpu0"; });
  ASSERT_NE(gpu, all.end());
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::count(gpu->second.begin(), gpu->second.end(), std::pair(key, value)) == 1;
  };
  EXPECT_TRUE(has("name", "Test GPU"));
  EXPECT_TRUE(has("link_at_most", "Gen5 x16"));
  EXPECT_TRUE(has("pcie_replays", "0"));
}

TEST_F(GpuExamine, AGpuFarFromEveryRdmaCardIsWarnedOf) {
  testing::HostGpuSettings gpu;
  gpu.facts.numa_node = 1;
  NetworkLink card;
  card.name = "mlx5_0/1";
  card.rdma = true;
  card.numa_node = 0;
  NetworkLink ethernet;  // no RDMA: not asked for
  ethernet.name = "eth0";
  ethernet.numa_node = 1;
  auto all = look(gpu, {card, ethernet});
  EXPECT_EQ(find(all, "gpu0 place")->level, Level::warning);
  EXPECT_EQ(find(all, "gpu0 place")->text, "on NUMA node 1, no RDMA NIC there: mlx5_0/1 on node 0");
  card.numa_node = 1;
  all = look(gpu, {card});
  EXPECT_EQ(find(all, "gpu0 place")->level, Level::good);
  EXPECT_EQ(find(look(gpu), "gpu0 place")->text, "on NUMA node 1; no RDMA NIC here");
  gpu.facts.numa_node = -1;
  EXPECT_FALSE(find(look(gpu, {card}), "gpu0 place"));
}

}  // namespace
}  // namespace headrace::system::gpu_examine_test
