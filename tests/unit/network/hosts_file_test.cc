// The one reader of hosts files, of fleets and bring-ups.
#include "harness/network/hosts_file.h"

#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::hosts_file_test {
namespace {

std::string refused(const std::string& text) {
  try {
    hosts_from(text, "hosts");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

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
  EXPECT_NE(refused("a rdm=mlx5_0\n").find("hosts:1:3: no key 'rdm'; did you mean 'rdma'?"), std::string::npos);
  EXPECT_NE(refused("a rail=e0,e0\n").find("each once"), std::string::npos);
  EXPECT_NE(refused("a rail=e0\n  b\n").find("hosts:2:3: b has 0 rails, and a has 1; give all hosts the same number"),
            std::string::npos);
}

TEST(HostsFile, TellsEveryProblemAtItsPlace) {
  const std::string told = refused("node01\nnode01\nnode02 rack\nnode03 swich=s1 pdu=a pdu=b\n");
  for (const char* words : {"hosts:2:1: a second line for node01", "hosts:3:8: 'rack' is no key=value",
                            "hosts:4:8: no key 'swich'; did you mean 'switch'?", "hosts:4:23: a second pdu"})
    EXPECT_NE(told.find(words), std::string::npos) << told;
  EXPECT_NE(refused("# nobody\n").find("no host in it"), std::string::npos);
}

TEST(HostsFile, AUserIsTheLaunchersAndNoPartOfTheName) {
  const auto hosts = hosts_from("root@node01 rack=r1\nnode02\nadmin@fd00::2\n", "hosts");
  EXPECT_EQ(hosts[0].name, "node01");
  EXPECT_EQ(hosts[0].login(), "root@node01");
  EXPECT_EQ(hosts[1].login(), "node02");
  EXPECT_EQ(hosts[2].name, "fd00::2");
  EXPECT_NE(refused("a\nroot@a\n").find("hosts:2:1: a second line for a; the first is line 1"), std::string::npos);
  for (const char* login : {"@a", "root@", "root@-a", "-o@a", "ro;ot@a", "a@b@c", "a:22", "root@a:22", "[fd00::2]:22"})
    EXPECT_EQ(refused(std::string("x\n ") + login + "\n").find("hosts:2:2: "), 0u) << login;
  EXPECT_NE(refused("a:22\n").find("--launch 'ssh -p 2222 {host}'"), std::string::npos);
}

TEST(HostsFile, WhatEditorsLeaveIsReadOver) {
  const auto hosts = hosts_from("\xEF\xBB\xBFnode01 rack=r1 \t\r\n# all\r\n\r\n\tnode02\t# the last\r\n   ", "hosts");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "node01");
  EXPECT_EQ(hosts[0].rack, "r1");
  EXPECT_EQ(hosts[1].name, "node02");
}

TEST(HostsFile, WhatIsNoTextOfHostsIsRefusedAtItsPlace) {
  EXPECT_EQ(refused("\xFF\xFEn\0").find("hosts:1:1: is in UTF-16"), 0u);
  EXPECT_EQ(refused("a\n\xEF\xBB\xBF"
                    "b\n")
                .find("hosts:2:1: a byte order mark within the file"),
            0u);
  EXPECT_EQ(refused("\xEF\xBB\xBFno\xC2\xA0"
                    "de\n")
                .find("hosts:1:1: a host's name has letters"),
            0u);
  EXPECT_EQ(refused("a\rb\r").find("hosts:1:3: 'b' is no key=value"), 0u);  // lines that end in a way of their own
}

}  // namespace
}  // namespace headrace::hosts_file_test
