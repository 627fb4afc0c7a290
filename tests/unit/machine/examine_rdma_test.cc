#include "harness/machine/examine/examine_rdma.h"

#include <gtest/gtest.h>

#include "tests/unit/host_rdma.h"

namespace headrace::system::examine_rdma_test {
namespace {

using Level = Finding::Level;

struct Ports final : RdmaBackend {
  std::optional<std::string> unusable() const override { return std::nullopt; }
  const std::vector<RdmaPort>& ports() const override { return all; }
  std::unique_ptr<RdmaEndpoint> open(const RdmaPort&, const RdmaSettings&) override { return nullptr; }
  std::vector<RdmaPort> all;
};

Ports one_port() {
  Ports ports;
  ports.all = testing::HostRdmaBackend(std::make_shared<testing::HostFabric>()).ports();
  return ports;
}
constexpr Limit kUnlimited{Limit::kUnlimited, Limit::kUnlimited};

TEST(ExamineRdma, SaysUnderWhichAddressAPortTalks) {
  const Ports ports = one_port();
  const auto findings = examine_rdma(ports, kUnlimited, false);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].level, Level::good);
  EXPECT_EQ(findings[0].subject, "host0/1");
  EXPECT_EQ(findings[0].text, "host0/1, GID 0 (RoCE v2, fd00::, host), MTU 4096, 80 Gbit/s");
}

TEST(ExamineRdma, WarnsOfAddressesThatDoNotReachFar) {
  Ports ports = one_port();
  ports.all[0].gids[0].bytes = {0xfe, 0x80};
  EXPECT_EQ(examine_rdma(ports, kUnlimited, false)[0].level, Level::warning);
  ports.all[0].gids.clear();
  EXPECT_NE(examine_rdma(ports, kUnlimited, false)[0].text.find("has no address"), std::string::npos);
}

TEST(ExamineRdma, NotesSmallPackets) {
  Ports ports = one_port();
  ports.all[0].mtu = 1024;
  const auto finding = examine_rdma(ports, kUnlimited, false)[0];
  EXPECT_EQ(finding.level, Level::note);
  EXPECT_NE(finding.text.find("; MTU could be 4096"), std::string::npos);
}

TEST(ExamineRdma, ReportsWhichPortsRanksGoBy) {
  Ports ports = one_port();
  for (const char* name : {"host10", "host2", "host3"}) ports.all.emplace_back(ports.all.front()).device = name;
  ports.all[2].rate *= 4;
  ports.all[3].active = false;
  ports.all[3].state = "DOWN";
  const auto findings = examine_rdma(ports, kUnlimited, true);
  const Finding& rails = findings.at(findings.size() - 2);
  EXPECT_EQ(rails.subject, "rails");
  EXPECT_EQ(rails.text, "host0/1, host3/1 (DOWN), host10/1");
  EXPECT_NE(rails.advice.find("not used: host2/1 (RoCE, 320 Gbit/s)"), std::string::npos) << rails.advice;
}

TEST(ExamineRdma, LeavesPortsThatAreDownToTheirCables) {
  Ports ports = one_port();
  ports.all[0].active = false;
  EXPECT_EQ(examine_rdma(ports, kUnlimited, false).size(), 1u);
}

TEST(ExamineRdma, WarnsOfLittleLockedMemory) {
  const Ports ports = one_port();
  const Limit little{8u << 20, 8u << 20};
  EXPECT_EQ(examine_rdma(ports, little, false).back().level, Level::warning);
  EXPECT_EQ(examine_rdma(ports, little, true).back().level, Level::good);
}

}  // namespace
}  // namespace headrace::system::examine_rdma_test
