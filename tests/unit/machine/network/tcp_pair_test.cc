#include "harness/bringup/network/tcp_pair.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/system/socket.h"

namespace headrace::tcp_pair_test {
namespace {

TcpPairPlan quick() {
  TcpPairPlan plan;
  plan.time_s = 0.1;
  plan.streams = 2;
  plan.meet_s = 120;
  plan.interface = "";
  return plan;
}

TEST(TcpPair, BothEndsReportReceivedBytesAndOneTheLatency) {
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
TEST(TcpPair, BothDirectionsAreTried) {
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
    if (!reachable) {
      EXPECT_NE(answered.back.find("127.0.0.1 port 1: Connection refused"), std::string::npos);
    }
  }
}

TEST(TcpPair, NoCallerComes) {
  TcpPairPlan plan = quick();
  plan.meet_s = 0.1;
  EXPECT_THROW(TcpPairListener(plan).answer(), RunError);
}

TEST(TcpPair, CallsNeedTheToken) {
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

/// Why it failed; "": it did not.
template <class Own>
std::string why_not(Own own) {
  try {
    own();
  } catch (const RunError& e) {
    return e.what();
  }
  return "";
}

TcpPairPlan short_spare() {
  TcpPairPlan plan = quick();
  plan.streams = 1;
  plan.meet_s = 60;
  plan.spare_s = 0.3;
  return plan;
}

TEST(TcpPair, ACallerThatPingsForEverIsGivenUp) {
  TcpPairListener listener(short_spare());
  std::jthread other([&](const std::stop_token& stop) {
    std::string address, why;
    const auto socket = call_door(listener.door(), address, TcpHello(listener.door().token, 0, 0), "", why);
    std::string ping(64, 'm');
    while (!stop.stop_requested() && system::send_all(socket.get(), ping, Deadline(1)) &&
           system::receive_all(socket.get(), ping, Deadline(1))) {
    }
  });
  EXPECT_EQ(why_not([&] { listener.answer(); }), "the other end did not finish in time");
}

TEST(TcpPair, AnEndThatSendsForEverIsGivenUp) {
  TcpDoor door;
  const auto listener = open_door(door, "", false);
  std::jthread other([&](const std::stop_token& stop) {
    const TcpCaller caller = TcpCallers(listener.get(), door.token).next(Deadline(60));
    welcome(caller.socket.get());
    std::vector<char> bytes(1 << 16), more(1 << 16, 'm');
    while (!stop.stop_requested() && system::receive_some(caller.socket.get(), bytes))
      system::send_all(caller.socket.get(), {more.data(), more.size()}, Deadline(0.01));
  });
  EXPECT_EQ(why_not([&] { call_pair(door, short_spare()); }), "the other end did not finish in time");
}

TEST(TcpPair, SilentConnectionsDelayNoOther) {
  TcpPairListener listener(quick());
  std::vector<system::UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    const auto to = system::SocketAddress::numeric(listener.door().addresses.front(), listener.door().port);
    strangers.push_back(system::connected(*to, Deadline(60)).socket);
    ASSERT_TRUE(strangers.back());
  }
  std::jthread other([&] { EXPECT_GT(listener.answer().received, 0); });
  EXPECT_GT(call_pair(listener.door(), quick()).received, 0);
}

TEST(TcpPair, OfMoreStrangersThanThereIsRoomForTheOldestGo) {
  TcpDoor door;
  const auto listener = open_door(door, "", false);
  TcpCallers callers(listener.get(), door.token);
  const auto to = system::SocketAddress::numeric(door.addresses.front(), door.port);
  std::vector<system::UniqueFd> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(system::connected(*to, Deadline(60)).socket);
    EXPECT_FALSE(callers.next(Deadline(0)));
  }
  EXPECT_TRUE(system::wait_readable(strangers.front().get(), Deadline(60)));  // closed
  const TcpHello hello(door.token, 3, 7);
  ASSERT_TRUE(
      system::send_all(strangers.back().get(), {reinterpret_cast<const char*>(&hello), sizeof hello}, Deadline(1)));
  const TcpCaller caller = callers.next(Deadline(60));
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller.hello.from, 3u);
  EXPECT_EQ(caller.hello.stream, 7u);
}

TEST(TcpPair, ADoorOfMoreAddressesThanHostsHaveIsNone) {
  TcpDoor door{std::vector<std::string>(kMostAddresses, "10.0.0.1"), 1, "token"};
  EXPECT_EQ(TcpDoor::unpacked(door.packed()).addresses.size(), kMostAddresses);
  door.addresses.emplace_back("10.0.0.1");
  EXPECT_THROW(TcpDoor::unpacked(door.packed()), RunError);
}

}  // namespace
}  // namespace headrace::tcp_pair_test
