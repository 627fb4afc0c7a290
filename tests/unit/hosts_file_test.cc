// The one reader of hosts files, of fleets and bring-ups.
#include "harness/network/hosts_file.h"

#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"
#include "tests/unit/temporary_folder.h"

namespace headrace {
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
  EXPECT_NE(refused("a rail=e0,e0\n").find("each once"), std::string::npos);
  EXPECT_NE(refused("a rail=e0\nb\n").find("hosts:2: b has 0 rails, and a has 1"), std::string::npos);
}

TEST(HostsFile, TellsEveryProblemAtItsPlace) {
  const std::string told = refused("node01\nnode01\nnode02 rack\nnode03 swich=s1 pdu=a pdu=b\n");
  for (const char* words : {"hosts:2:1: a second line for node01", "hosts:3:8: 'rack' is no key=value",
                            "hosts:4:8: no key 'swich'; did you mean 'switch'?", "hosts:4:23: a second pdu"})
    EXPECT_NE(told.find(words), std::string::npos) << told;
  EXPECT_NE(refused("# nobody\n").find("no host in it"), std::string::npos);
}

}  // namespace
}  // namespace headrace
