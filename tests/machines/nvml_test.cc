// headrace's reader of NVML: fields, layouts and numbers as the library has them.
#include <gtest/gtest.h>

#include "tests/machines/mocked_nvml.h"

namespace headrace::testing {
namespace {

struct NvmlReader : ::testing::Test {
  std::vector<NvmlMockGpu> gpus{NvmlMockGpu{}};
  NvmlReader() {
    gpus[0].pci_address = "0009:01:00.0";
    mocked_nvml(gpus);  // before anybody asks for the reader
  }
  void* device() { return mocked_nvml(gpus).device("0009:01:00.0"); }
  const cuda::Nvml& nvml() { return cuda::Nvml::instance(); }
};

TEST_F(NvmlReader, C2cByFields170To172) {
  gpus[0].c2c = gpus[0].c2c_up = 10;
  gpus[0].c2c_mbps = 44712;
  C2cLinks links = nvml().links().c2c(device());
  EXPECT_EQ(links.most, 10u);
  EXPECT_EQ(links.count, 10u);
  EXPECT_NEAR(links.rate, 447.12e9, 1);
  gpus[0].c2c_up = 7;
  links = nvml().links().c2c(device());
  EXPECT_EQ(links.count, 7u);
  EXPECT_NEAR(links.rate, 7 * 44.712e9, 1);
  gpus[0].c2c = gpus[0].c2c_up = 0;  // a GPU behind PCI Express
  EXPECT_EQ(nvml().links().c2c(device()).most, 0u);
  EXPECT_EQ(nvml().links().c2c(nullptr).most, 0u);
}

TEST_F(NvmlReader, NvLinksTheirGenerationAndWhereTheyLead) {
  static const char* const ends[] = {"0018:01:00.0", "0019:01:00.0", "0018:01:00.0", "0019:01:00.0"};
  gpus[0].nvlinks = 4;
  gpus[0].nvlinks_up = 3;
  gpus[0].nvlink_version = 6;  // NVML_NVLINK_VERSION_4_0
  gpus[0].nvlink_mbps = 26562;
  gpus[0].ends = ends;
  NvLinks links = nvml().links().nvlinks(device());
  EXPECT_EQ(links.most, 4u);
  EXPECT_EQ(links.count, 3u);
  EXPECT_EQ(links.generation, 4u);
  EXPECT_NEAR(links.each, 26.562e9, 1);
  EXPECT_FALSE(links.to_switch);
  EXPECT_EQ(links.ends, (std::vector<std::string>{"0018:01:00.0", "0019:01:00.0", "0018:01:00.0"}));
  gpus[0].end_type = 2;
  gpus[0].ends = nullptr;
  gpus[0].nvlink_version = 7;
  links = nvml().links().nvlinks(device());
  EXPECT_TRUE(links.to_switch);
  EXPECT_EQ(links.generation, 5u);
  EXPECT_EQ(links.ends, std::vector<std::string>(3));
}

TEST_F(NvmlReader, ErrorsRowsAndXids) {
  gpus[0].nvlinks = gpus[0].nvlinks_up = 2;
  gpus[0].link_errors = 12;
  gpus[0].remapped = 3;
  gpus[0].remap_pending = true;
  gpus[0].throttle = 0x40;
  gpus[0].xid = 79;
  void* gpu = device();
  nvml().watch_errors(gpu);
  GpuState state = nvml().state(gpu);
  EXPECT_EQ(state.nvlink_errors, 12u);
  EXPECT_EQ(state.nvlinks_up, 2u);
  EXPECT_EQ(state.remapped_rows, 3u);
  EXPECT_TRUE(state.remap_pending);
  EXPECT_FALSE(state.remap_failed);
  EXPECT_EQ(state.held_back, "thermal, by hardware");
  EXPECT_EQ(state.xids, std::vector<unsigned>{79});
  EXPECT_TRUE(nvml().state(gpu).xids.empty());  // each is reported once
}

TEST_F(NvmlReader, SymbolErrorsOfEachLinkSinceGeneration5) {
  static constexpr unsigned long long kEach[] = {0, 5, 7, 100};
  gpus[0].nvlinks = 4;
  gpus[0].nvlinks_up = 3;
  gpus[0].symbol_errors = kEach;
  EXPECT_EQ(nvml().state(device()).nvlink_errors, 12u);
}

TEST_F(NvmlReader, UsersWithoutAccessToAGpu) {
  EXPECT_EQ(nvml().refuses(device()), "");
  gpus[0].compute_mode = 3;
  EXPECT_EQ(nvml().refuses(device()), "a second process");
  gpus[0].compute_mode = 2;
  EXPECT_EQ(nvml().refuses(device()), "all processes");
  EXPECT_EQ(nvml().refuses(nullptr), "");
}

TEST_F(NvmlReader, SwitchesThatAreNotSetUp) {
  EXPECT_EQ(nvml().links().fabric(device()), "");
  gpus[0].fabric = 2;
  EXPECT_EQ(nvml().links().fabric(device()), "in progress");
  gpus[0].fabric = 3;
  EXPECT_EQ(nvml().links().fabric(device()), "");
}

/// NVML_GPU_FABRIC_STATE_COMPLETED says that registering has ended, and not how.
TEST_F(NvmlReader, SwitchesThatAreSetUpAndNotAsTheyShouldBe) {
  struct Case {
    int status;
    unsigned health;
    const char* reported;
  };
  gpus[0].fabric = 3;
  for (const Case& one :
       {Case{999, 0, "failed to register this GPU (NVML status 999)"},
        Case{0, 0x0aa, ""},  // each of four fields says no
        Case{0, 0x1aa, ""},  // and the configuration is right
        Case{0, 0x001, "degraded bandwidth"}, Case{0, 0x011, "degraded bandwidth, a route is unhealthy"},
        Case{0, 0x500, "too few NVLinks"}, Case{0, 0x300, "wrong serial number of the chassis"},
        Case{0, 0x004, "in progress"}, Case{0, 0x040, "in progress"}}) {
    gpus[0].fabric_status = one.status;
    gpus[0].fabric_health = one.health;
    GpuFacts facts;
    facts.fabric = nvml().links().fabric(device());
    EXPECT_EQ(facts.fabric, one.reported);
    EXPECT_EQ(facts.fabric_failed(), *one.reported != '\0' && facts.fabric != "in progress");
  }
  gpus[0].fabric = 1;  // what is said of a registration that has not ended means nothing
  EXPECT_EQ(nvml().links().fabric(device()), "not started");
}

TEST_F(NvmlReader, GpusThatItListsAndThoseThatItHasLost) {
  gpus.resize(3);
  gpus[1].pci_address = "0000:1b:00.0";
  gpus[2].pci_address = "0000:43:00.0";
  device();
  EXPECT_EQ(nvml().links().addresses(), (std::vector<std::string>{"0009:01:00.0", "0000:1b:00.0", "0000:43:00.0"}));
  EXPECT_FALSE(nvml().is_lost(device()));
  gpus[0].lost = true;
  EXPECT_TRUE(nvml().is_lost(device()));
  EXPECT_EQ(nvml().links().addresses(), (std::vector<std::string>{"0000:1b:00.0", "0000:43:00.0"}));
  EXPECT_FALSE(nvml().is_lost(nullptr));
}

TEST_F(NvmlReader, RecoveriesAndGroupsOfNodes) {
  gpus[0].fabric = 3;
  gpus[0].nvlinks = gpus[0].nvlinks_up = 2;
  gpus[0].c2c = gpus[0].c2c_up = 1;
  GpuState state = nvml().state(device());
  EXPECT_EQ(state.recovery, "");
  EXPECT_FALSE(state.link_recoveries || state.c2c_errors) << "an older GPU has no such counters";
  EXPECT_EQ(nvml().links().fabric_group(device()), "") << "its switches are this node's";
  EXPECT_EQ(nvml().own_generation(device()), 0u);
  gpus[0].blackwell = true;
  gpus[0].recovery = 2;
  gpus[0].recoveries = 4;
  gpus[0].c2c_errors = 9;
  gpus[0].cluster = 0xa1;
  gpus[0].clique = 3;
  gpus[0].own_generation = 5;
  state = nvml().state(device());
  EXPECT_EQ(state.recovery, "a reboot");
  EXPECT_EQ(state.link_recoveries, 4u);
  EXPECT_EQ(state.c2c_errors, 9u);
  EXPECT_EQ(nvml().links().fabric_group(device()), "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1/3");
  EXPECT_EQ(nvml().own_generation(device()), 5u);
  gpus[0].recovery = 77;  // of a newer driver
  EXPECT_EQ(nvml().state(device()).recovery, "recovery action 77");
  gpus[0].fabric = 2;
  EXPECT_EQ(nvml().links().fabric_group(device()), "") << "nothing is known yet";
}

}  // namespace
}  // namespace headrace::testing
