// Two hosts over RDMA, on devices that are this process's memory: what both ends report, and what they say when it goes wrong.
#include "harness/bringup/network/rdma_pair.h"

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "harness/base/error.h"
#include "harness/machine/rdma_counters.h"
#include "tests/unit/host_rdma.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::rdma_pair_test {
namespace {

using testing::HostFabric;
using testing::HostRdmaBackend;
using testing::TemporaryFolder;

RdmaPairPlan quick(const std::string& port = "host0/1") {
  RdmaPairPlan plan;
  plan.port = port;
  plan.time_s = 0.1;
  plan.queue_pairs = 2;
  plan.silence_s = 1;
  return plan;
}

struct Seen {
  RdmaPairEnd called, answered;
  std::string why_called, why_answered;
};

/// `amid`: once both are connected.
Seen measure(
    const std::shared_ptr<HostFabric>& fabric, const RdmaPairPlan& plan = quick(),
    const std::function<void()>& amid = [] {}) {
  HostRdmaBackend one(fabric), other(fabric);
  RdmaPair a(one, plan), b(other, quick());
  a.connect(b.card());
  b.connect(a.card());
  amid();
  Seen seen;
  const auto end = [](RdmaPair& pair, bool leads, RdmaPairEnd& reported, std::string& why) {
    try {
      reported = pair.measure(leads);
    } catch (const std::exception& e) {
      why = e.what();
    }
  };
  std::jthread answers([&] { end(b, false, seen.answered, seen.why_answered); });
  end(a, true, seen.called, seen.why_called);
  answers.join();
  return seen;
}

TEST(RdmaPair, BothEndsReportSentBytesAndOneTheLatency) {
  const Seen seen = measure(std::make_shared<HostFabric>());
  EXPECT_EQ(seen.why_called + seen.why_answered, "");
  EXPECT_EQ(seen.called.damaged + seen.answered.damaged, "");
  EXPECT_GT(seen.called.sent, 1e6);
  EXPECT_GT(seen.answered.sent, 1e6);
  ASSERT_TRUE(seen.called.latency);
  EXPECT_FALSE(seen.answered.latency);
  EXPECT_GT(seen.called.latency->least_s, 0);
  EXPECT_LE(seen.called.latency->least_s, seen.called.latency->median_s);
  EXPECT_LE(seen.called.latency->median_s, seen.called.latency->p99_s);
}

TEST(RdmaPair, DamagedDataIsNoRate) {
  const auto fabric = std::make_shared<HostFabric>();
  const Seen seen = measure(fabric, quick(), [&] {
    const std::lock_guard lock(fabric->mutex);
    fabric->faults.corrupts = true;
    fabric->faults.spares = 4096;  // words come well
  });
  EXPECT_EQ(seen.why_called + seen.why_answered, "");
  for (const RdmaPairEnd& end : {seen.called, seen.answered})
    EXPECT_EQ(end.damaged, "received data differs from the sent data, from byte 0 of message buffer 0");
}

TEST(RdmaPair, AQueuePairThatFailsEndsBothEnds) {
  const auto fabric = std::make_shared<HostFabric>();
  const Seen seen = measure(fabric, quick(), [&] {
    const std::lock_guard lock(fabric->mutex);
    fabric->faults.fails_with = 12;
    fabric->faults.after = fabric->requests + 1000;
  });
  EXPECT_NE((seen.why_called + seen.why_answered).find("status 12"), std::string::npos);
  EXPECT_NE(seen.why_called, "");
  EXPECT_NE(seen.why_answered, "");
}

TEST(RdmaPair, APortThatIsDownOrNotThereIsReported) {
  HostRdmaBackend rdma(std::make_shared<HostFabric>(), 2, {1});
  EXPECT_THROW(RdmaPair(rdma, quick("host7/1")), RunError);
  EXPECT_THROW(RdmaPair(rdma, quick("host1/1")), std::exception);
}

TEST(RdmaPair, CountsRetransmissionsAndErrorsOfItsPort) {
  const TemporaryFolder folder;
  const std::string port = "sys/class/infiniband/host0/ports/1/";
  const auto lay = [&](const char* name, int count) { folder.write(port + name, std::to_string(count) + "\n"); };
  lay("counters/symbol_error", 7);
  lay("counters/port_xmit_discards", 1);
  lay("hw_counters/packet_seq_err", 3);
  RdmaPairPlan plan = quick();
  plan.sys = folder / "sys";
  const Seen seen = measure(std::make_shared<HostFabric>(), plan, [&] {
    lay("counters/symbol_error", 9);
    lay("counters/port_xmit_discards", 5);  // a partner that is slow, and no damage
    lay("hw_counters/packet_seq_err", 4);
  });
  EXPECT_EQ(seen.why_called + seen.why_answered, "");
  EXPECT_EQ(seen.called.own_errors, (std::map<std::string, std::uint64_t>{{"symbol_error", 2}}));
  EXPECT_GT(seen.called.sent_again, 0);
  EXPECT_LT(seen.called.sent_again, 1);
  EXPECT_EQ(seen.answered.sent_again, 0);
  EXPECT_TRUE(system::rdma_counters("host0/2", plan.sys).own_errors.empty());
}

}  // namespace
}  // namespace headrace::rdma_pair_test
