// The one reader of hosts files, of fleets and bring-ups. What it refuses: tests/cases/net/hosts_files.yaml.
#include "harness/machine/network/hosts_file.h"

#include <gtest/gtest.h>

#include "harness/base/diagnostics.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::hosts_file_test {
namespace {

TEST(HostsFile, ReportsThePlaceOfEach) {
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

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> all;
  for (const Host& host : hosts_from(text, "hosts")) all.push_back(host.name);
  return all;
}

std::string refusal(const std::string& text) {
  try {
    names(text);
  } catch (const UsageErrors& e) {
    return e.what();
  }
  return "";
}

TEST(HostsFile, ReadsListsAsSlurmWritesThem) {
  EXPECT_EQ(names("node[008-010,3],gpu-a[1-2]\n"),
            (std::vector<std::string>{"node008", "node009", "node010", "node3", "gpu-a1", "gpu-a2"}));
  EXPECT_EQ(names("r[1-2]n[1-2]x\n"), (std::vector<std::string>{"r1n1x", "r1n2x", "r2n1x", "r2n2x"}));
  const auto hosts = hosts_from("root@node[1-2] rack=r1\n", "hosts");
  EXPECT_EQ(hosts[1].login(), "root@node2");
  EXPECT_EQ(hosts[1].rack, "r1");
  EXPECT_TRUE(refusal([] {
                std::string endless;
                for (int i = 0; i < 100'000; ++i) endless += "[1]";
                return "n" + endless;
              }())
                  .find("too long") != std::string::npos);
  for (const char* wrong : {"node[1-", "node[2-1]", "node[a-b]", "node[]", "node[1-999999999]"})
    EXPECT_TRUE(refusal(wrong).starts_with("hosts:1:1: ")) << wrong << refusal(wrong);
  EXPECT_NE(refusal("node[1-3]\nnode2 rack=r1\n").find("a second line for node2"), std::string::npos);
}

TEST(HostsFile, LinesThatAreAlikeAreOneHost) {
  EXPECT_EQ(names("a slots=2\nb slots=2\na slots=2\nb  slots=2\n"), (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(refusal("a slots=2\na slots=3\n").find("a second line for a"), std::string::npos);
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

TEST(HostsFile, RemainsOfEditorsAreIgnored) {
  const auto hosts = hosts_from("\xEF\xBB\xBFnode01 rack=r1 \t\r\n# all\r\n\r\n\tnode02\t# the last\r\n   ", "hosts");
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].name, "node01");
  EXPECT_EQ(hosts[0].rack, "r1");
  EXPECT_EQ(hosts[1].name, "node02");
}

TEST(HostsFile, NamesTheCommandThatConverts) {
  const std::vector<std::pair<std::string, std::string>> files{
      {"nodes/gpu1\n", "cut -d/ -f2 hosts"},
      {"gpu1/0*8\n", "| cut -d/ -f1"},
      {"node1 1 gpu idle\n", "awk '{print $1}' hosts"},
      {"node1* 1 gpu idle\n", "| tr -d '*'"},
      {"fd00::a fd00::b\n", "tr -s"},
      {"[gpu:vars]\n", "ansible all -i hosts"},
      {"# all\nhostname,rack\nnode1,r1\n", "awk -F, 'NR > 2 {print $1}' hosts"},
      {"rack;nodename\nr1;node1\n", "awk -F';' 'NR > 1 {print $2}' hosts"}};
  for (const auto& [text, command] : files) EXPECT_NE(refusal(text).find(command), std::string::npos) << refusal(text);
  EXPECT_EQ(names("[fd00::1]\ngpu,node\n"), (std::vector<std::string>{"fd00::1", "gpu", "node"}));
}

TEST(HostsFile, AHostIsKnownByItsNameOrItsFirstLabel) {
  const std::vector<std::string> hosts{"gpu01.cluster.example", "gpu02", "gpu03.a", "gpu03.b", "10.0.0.1", "10.0.0.2"};
  EXPECT_EQ(host_named(hosts, "gpu01.cluster.example"), 0u);
  EXPECT_EQ(host_named(hosts, "gpu01"), 0u);
  EXPECT_EQ(host_named(hosts, "gpu02.cluster.example"), 1u);
  EXPECT_FALSE(host_named(hosts, "gpu01.other.example")) << "another host";
  EXPECT_FALSE(host_named(hosts, "gpu03")) << "either may be meant";
  EXPECT_EQ(host_named(hosts, "GPU02"), 1u);
  EXPECT_EQ(host_named(hosts, "GPU01."), 0u);
  EXPECT_EQ(host_named({"NODE3.a"}, "node3"), 0u);
  EXPECT_EQ(host_named({"twin", "Twin"}, "Twin"), 1u);
  EXPECT_FALSE(host_named({"twin", "Twin"}, "TWIN")) << "either may be meant";
  EXPECT_EQ(host_named(hosts, "10.0.0.2"), 5u);
  EXPECT_FALSE(host_named(hosts, "10"));
  EXPECT_FALSE(host_named({}, "gpu01"));
  EXPECT_EQ(names_in("node[1,3],gpu7"), (std::vector<std::string>{"node1", "node3", "gpu7"}));
  EXPECT_EQ(names_in("node["), std::vector<std::string>{"node["});
}

}  // namespace
}  // namespace headrace::hosts_file_test
