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
  EXPECT_TRUE(nvml().state(gpu).xids.empty());  // each is told once
}

TEST_F(NvmlReader, SymbolErrorsOfEachLinkSinceGeneration5) {
  static constexpr unsigned long long kEach[] = {0, 5, 7, 100};
  gpus[0].nvlinks = 4;
  gpus[0].nvlinks_up = 3;
  gpus[0].symbol_errors = kEach;
  EXPECT_EQ(nvml().state(device()).nvlink_errors, 12u);
}

TEST_F(NvmlReader, WhoMayNotUseAGpu) {
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

}  // namespace
}  // namespace headrace::testing
