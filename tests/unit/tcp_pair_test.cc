#include "harness/network/tcp_pair.h"

#include <gtest/gtest.h>

#include <thread>

#include "harness/base/error.h"

namespace headrace {
namespace {

TcpPairPlan quick() {
  TcpPairPlan plan;
  plan.time_s = 0.1;
  plan.streams = 2;
  plan.meet_s = 120;
  plan.interface = "";
  return plan;
}

TEST(TcpPair, BothEndsTellWhatTheyReceivedAndOneTheLatency) {
  TcpPairListener listener(quick());
  TcpPairEnd answered;
  std::jthread other([&] { answered = listener.answer(); });
  const TcpPairEnd called = call_pair(listener.door(), quick());
  other.join();
  EXPECT_GT(called.received, 1e6);
  EXPECT_GT(answered.received, 1e6);
  EXPECT_GT(called.segments, 0u);
  EXPECT_GT(answered.segments, 0u);
  ASSERT_TRUE(called.latency.has_value());
  EXPECT_FALSE(answered.latency.has_value());
  EXPECT_GT(called.latency->least_s, 0);
  EXPECT_LE(called.latency->least_s, called.latency->median_s);
  EXPECT_LE(called.latency->median_s, called.latency->p99_s);
}

/// The end that is called calls back, and says why it cannot.
TEST(TcpPair, BothWaysAreTried) {
  for (const bool reachable : {true, false}) {
    TcpPairListener called(quick()), caller(quick());
    TcpDoor back = caller.door();
    if (!reachable) {
      back.addresses = {"127.0.0.1"};
      back.port = 1;
    }
    TcpPairEnd answered;
    std::jthread other([&] { answered = called.answer(&back); });
    const TcpPairEnd end = call_pair(called.door(), quick(), &caller);
    other.join();
    EXPECT_GT(end.received, 1e6);
    EXPECT_EQ(answered.back.empty(), reachable) << answered.back;
    if (!reachable) EXPECT_NE(answered.back.find("127.0.0.1 port 1: Connection refused"), std::string::npos);
  }
}

TEST(TcpPair, NobodyComes) {
  TcpPairPlan plan = quick();
  plan.meet_s = 0.1;
  EXPECT_THROW(TcpPairListener(plan).answer(), RunError);
}

TEST(TcpPair, NobodyIsCalledWithoutTheToken) {
  TcpPairPlan plan = quick();
  plan.meet_s = 1;
  TcpPairListener listener(plan);
  TcpDoor door = listener.door();
  door.token[0] = static_cast<char>(door.token[0] ^ 1);
  std::jthread other([&] { EXPECT_THROW(listener.answer(), RunError); });
  EXPECT_THROW(call_pair(door, plan), NotConnected);
  door.addresses = {"127.0.0.1"};
  door.port = 1;
  EXPECT_THROW(call_pair(door, plan), NotConnected);
}

}  // namespace
}  // namespace headrace
