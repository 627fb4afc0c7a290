// The one reader of hosts files, of fleets and bring-ups. What it refuses: tests/cases/net/hosts_files.yaml.
#include "harness/network/hosts_file.h"

#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::hosts_file_test {
namespace {

TEST(HostsFile, TellsWhereEachStands) {
  const headrace::testing::TemporaryFolder folder;
  folder.write("hosts", "# all\nnode01 slots=8 rack=r1 switch=s1 pdu=p4\n\nnode02 rack=r1 # later\n");
  const auto hosts = read_hosts(folder / "hosts");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].leaf_switch, "s1");
  EXPECT_EQ(hosts[0].attributes(),
            (std::map<std::string, std::string>{{"pdu", "p4"}, {"rack", "r1"}, {"switch", "s1"}}));
  EXPECT_EQ(hosts[1].attributes(), (std::map<std::string, std::string>{{"rack", "r1"}}));
  EXPECT_THROW(read_hosts(folder / "none"), UsageError);
}

TEST(HostsFile, NamesRailsInOrder) {
  const auto hosts = hosts_from("a rail=eth2,eth1\nb rail=eth1,eth2\n", "hosts");
  EXPECT_EQ(hosts[0].rails, (std::vector<std::string>{"eth2", "eth1"}));
  EXPECT_EQ(hosts_from("a rdma=mlx5_0,mlx5_3:1\n", "hosts")[0].rdma, "mlx5_0,mlx5_3:1");
}

TEST(HostsFile, AUserIsTheLaunchersAndNoPartOfTheName) {
  const auto hosts = hosts_from("root@node01 rack=r1\nnode02\nadmin@fd00::2\n", "hosts");
  EXPECT_EQ(hosts[0].name, "node01");
  EXPECT_EQ(hosts[0].login(), "root@node01");
  EXPECT_EQ(hosts[1].login(), "node02");
  EXPECT_EQ(hosts[2].name, "fd00::2");
}

TEST(HostsFile, WhatEditorsLeaveIsReadOver) {
  const auto hosts = hosts_from("\xEF\xBB\xBFnode01 rack=r1 \t\r\n# all\r\n\r\n\tnode02\t# the last\r\n   ", "hosts");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "node01");
  EXPECT_EQ(hosts[0].rack, "r1");
  EXPECT_EQ(hosts[1].name, "node02");
}

}  // namespace
}  // namespace headrace::hosts_file_test
