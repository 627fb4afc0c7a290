// Lists and files as NCCL reads them.
#include "harness/machine/network/nccl_settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "harness/base/error.h"
#include "harness/machine/network/rdma_place.h"
#include "harness/machine/network/rdma_rails.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::nccl_settings_test {
namespace {

struct Variable {
  Variable(const char* name, const std::string& value) : name(name) { ::setenv(name, value.c_str(), 1); }
  ~Variable() { ::unsetenv(name); }
  const char* name;
};

TEST(NcclList, TakesPrefixesUnlessWholeNamesAreAskedFor) {
  EXPECT_TRUE(NcclList("mlx5_1").selects("mlx5_10", 1));
  EXPECT_FALSE(NcclList("=mlx5_1").selects("mlx5_10", 1));
  EXPECT_TRUE(NcclList("=mlx5_1").selects("mlx5_1", 2));
  EXPECT_FALSE(NcclList("^mlx5_1").selects("mlx5_10", 1));
  EXPECT_TRUE(NcclList("^=mlx5_1").selects("mlx5_10", 1));
  EXPECT_TRUE(NcclList("mlx5_0:1,mlx5_3").selects("mlx5_0", 1));
  EXPECT_FALSE(NcclList("mlx5_0:1,mlx5_3").selects("mlx5_0", 2));
  EXPECT_TRUE(NcclList("").selects("eth0"));
  EXPECT_FALSE(NcclList("^").selects("eth0"));
  EXPECT_TRUE(NcclList("^=mlx5_8,^=mlx5_11").selects("mlx5_11")) << "the second is no name";
  EXPECT_TRUE(NcclList("eth0").selects("eth01"));
  EXPECT_FALSE(NcclList(" eth0").selects("eth0")) << "blanks belong to names";
}

TEST(NcclSettings, TheEnvironmentBeforeTheUsersFileBeforeTheSystems) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder / ".nccl.conf") << "NCCL_IB_TC=106\nNCCL_IB_SL = 3\n# NCCL_X=1\nnothing\n";
  std::ofstream(folder / "nccl.conf") << "NCCL_IB_TC=41\nNCCL_DEBUG=WARN\nOTHER=1\n";
  const auto value = [&](const std::string& name) -> std::string {
    for (const NcclSetting& one : nccl_settings(folder.path(), folder.path()))
      if (one.name == name) return one.in_words();
    return "none";
  };
  EXPECT_EQ(value("NCCL_IB_TC"), "NCCL_IB_TC=106 (" + (folder / ".nccl.conf") + ")");
  EXPECT_EQ(value("NCCL_DEBUG"), "NCCL_DEBUG=WARN (" + (folder / "nccl.conf") + ")");
  EXPECT_EQ(value("NCCL_IB_SL"), "none") << "NCCL reads a name with a blank";
  EXPECT_EQ(value("OTHER"), "none");
  const Variable own("NCCL_IB_TC", "7");
  EXPECT_EQ(value("NCCL_IB_TC"), "NCCL_IB_TC=7");
  std::ofstream(folder / "job.conf") << "NCCL_IB_GID_INDEX=5\n";
  const Variable file("NCCL_CONF_FILE", folder / "job.conf");
  EXPECT_EQ(value("NCCL_IB_GID_INDEX"), "NCCL_IB_GID_INDEX=5 (" + (folder / "job.conf") + ")");
  EXPECT_EQ(nccl_rdma().traffic_class, 7u);
  EXPECT_EQ(nccl_rdma().roce_gid_index, 5u);
  EXPECT_FALSE(nccl_rdma().service_level);
}

TEST(NcclSettings, AreTheDefaultsOfRdmaPorts) {
  std::vector<RdmaPort> ports(3);
  for (unsigned i = 0; i < ports.size(); ++i) {
    RdmaPort& port = ports[i];
    port.device = "mlx5_" + std::to_string(i == 2 ? 10 : i);
    port.active = port.ethernet = true;
    port.rate = i == 2 ? 12.5e9 : 50e9;
    for (unsigned g = 0; g < 2; ++g)
      port.gids.push_back({.index = g, .kind = RdmaGid::Kind::roce_v2, .bytes = {0xfd}, .interface = ""});
  }
  const auto names = [&] {
    std::string all;
    for (const RdmaPort* port : rdma_rails(ports, "", 0).ports) all += port->device + " ";
    return all;
  };
  EXPECT_EQ(names(), "mlx5_0 mlx5_1 ");
  {
    const Variable hca("NCCL_IB_HCA", "mlx5_1");  // NCCL uses what it names, whatever its rate
    EXPECT_EQ(names(), "mlx5_1 mlx5_10 ");
    EXPECT_NE(rdma_rails(ports, "", 0).chosen.find("NCCL_IB_HCA=mlx5_1"), std::string::npos);
    EXPECT_EQ(rdma_rails(ports, "mlx5_0", 0).ports.size(), 1u) << "what is asked for decides";
    EXPECT_EQ(choose_rdma_place(ports, {.roce_gid_index = 1}).gid_index, 1u);
    EXPECT_THROW(choose_rdma_place(ports, {.roce_gid_index = 9}), RunError);
  }
  const Variable nothing("NCCL_IB_HCA", "=mlx5");
  EXPECT_THROW(names(), RunError);
}

}  // namespace
}  // namespace headrace::nccl_settings_test
