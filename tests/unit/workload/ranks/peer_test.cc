// Two peers over a real socket: who may come, what is asked to whom, and what happens when one is gone.
#include "harness/record/ranks/peer.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "harness/base/diagnostics.h"
#include "harness/workload/peer/greeting.h"
#include "harness/workload/peer/listener.h"
#include "harness/workload/peer/tcp_peer.h"
#include "harness/workload/ranks/frame.h"

namespace headrace::peer::peer_test {
namespace {

const auto kNoLog = [](const std::string&) {};
const auto kNever = [] { return false; };

struct Pair {
  std::unique_ptr<TcpPeer> leader, follower;
};

struct PeerTest : ::testing::Test {
  Listener listener{{"127.0.0.1", 0}, "a word of the listener"};

  Endpoint there() const { return parse_endpoint(listener.address(), "--peer"); }
  Pair meet_each_other() {
    auto follower = std::async(std::launch::async, [&] { return listener.accept(5, kNoLog, kNever); });
    auto leader = meet(there(), "a word of the listener", 5);
    return {std::move(leader), follower.get()};
  }
  /// What a leader that is turned away gets.
  std::string refusal(const std::string& token, std::string* logged = nullptr) {
    std::string log;
    auto follower = std::async(std::launch::async, [&] {
      return listener.accept(
          0.4, [&](const std::string& text) { log = text; }, kNever);
    });
    std::string why = "nothing was wrong";
    try {
      meet(there(), token, 5);
    } catch (const RunError& e) {
      why = e.what();
    }
    EXPECT_FALSE(follower.get());
    if (logged) *logged = log;
    return why;
  }
};

template <class Call>
std::string thrown(Call call) {
  try {
    call();
  } catch (const RunError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST_F(PeerTest, ExchangesWordsAndSteps) {
  auto ends = meet_each_other();  // clang 14 cannot capture structured bindings
  auto &leader = ends.leader, &follower = ends.follower;
  EXPECT_TRUE(leader->leads());
  EXPECT_FALSE(follower->leads());
  EXPECT_EQ(leader->local_address(), "127.0.0.1");
  EXPECT_EQ(leader->size(), 2u);
  leader->step("first", true);
  EXPECT_EQ(follower->next_step(5), "first");
  auto theirs = std::async(std::launch::async, [&] { return follower->exchange("colours", 0, "red", 5); });
  EXPECT_EQ(leader->exchange("colours", 1, std::string("\0blue", 5), 5), "red");
  EXPECT_EQ(theirs.get(), std::string("\0blue", 5));
  leader->say_goodbye();
  EXPECT_EQ(follower->next_step(5), std::nullopt);
}

TEST_F(PeerTest, TakesLongWordsOnceGreeted) {
  auto ends = meet_each_other();
  auto &leader = ends.leader, &follower = ends.follower;
  const std::string long_words(1'000'000, 'x');
  auto theirs = std::async(std::launch::async, [&] { return follower->exchange("keys", 0, long_words, 5); });
  EXPECT_EQ(leader->exchange("keys", 1, long_words, 5), long_words);
  EXPECT_EQ(theirs.get(), long_words);
}

TEST_F(PeerTest, ARefusedClientLearnsNothingOfThisHost) {
  const Greeting reported = greeting_from(to_bytes(peer::refusal("busy")));
  EXPECT_EQ(reported.refused, "busy");
  EXPECT_EQ(reported.host + reported.version, "");
}

TEST_F(PeerTest, NamesTheSilentPeerAndTheStep) {
  auto ends = meet_each_other();
  auto &leader = ends.leader, &follower = ends.follower;
  const std::string why = thrown([&] { leader->exchange("connect queue pairs", 1, "", 0.05); });
  EXPECT_EQ(why, "connect queue pairs: no word within 0.05 s from " + leader->who(1));
  EXPECT_EQ(leader->lost(), "");
  follower.reset();
  EXPECT_EQ(thrown([&] { leader->exchange("anything", 1, "", 5); }), "anything: " + leader->who(1) + " ended");
  EXPECT_EQ(leader->lost(), leader->who(1) + " ended");
}

/// Two ends of one connection.
std::pair<ranks::Connection, ranks::Connection> connected() {
  int ends[2] = {};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  return {ranks::Connection(system::UniqueFd(ends[0])), ranks::Connection(system::UniqueFd(ends[1]))};
}

/// As a process that is stopped: its kernel takes what comes, and it says nothing.
TEST(Peer, ALostPeerIsGivenUpLongBeforeItIsDue) {
  auto [own, silent] = connected();
  TcpPeer leader(std::move(own), 0, "node-a", "node-b", "127.0.0.1", 2);
  const std::string why = thrown([&] { leader.exchange("check data", 1, "", 600); });
  EXPECT_EQ(why, "check data: no sign of life from rank 1 (node-b) for 2 s");
}

TEST(Peer, ABusyPeerIsWaitedFor) {
  auto [a, b] = connected();
  TcpPeer leader(std::move(a), 0, "node-a", "node-b", "127.0.0.1", 7),
      follower(std::move(b), 1, "node-b", "node-a", "");
  auto busy = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(std::chrono::seconds(9));  // fills its buffers
    return follower.exchange("check data", 0, "right", 60);
  });
  EXPECT_EQ(leader.exchange("check data", 1, "", 600), "right");
  busy.get();
}

TEST_F(PeerTest, ReportsFailuresAndMissingPartsToTheLeader) {
  auto ends = meet_each_other();
  auto &leader = ends.leader, &follower = ends.follower;
  leader->step("prepare", true);
  follower->next_step(5);
  follower->fail("no RDMA device", true);
  try {
    leader->exchange("connect", 1, "", 5);
    FAIL();
  } catch (const Unsupported& e) {
    EXPECT_EQ(e.what(), leader->host(1) + ": no RDMA device");
  }
  follower->fail("wrong data", false);
  EXPECT_EQ(thrown([&] { leader->exchange("check", 1, "", 5); }), leader->host(1) + ": wrong data");
}

TEST_F(PeerTest, MessagesOfAnEarlierWorkloadAreIgnored) {
  auto ends = meet_each_other();
  auto &leader = ends.leader, &follower = ends.follower;
  leader->step("first", true);
  follower->next_step(5);
  follower->fail("too late", false);
  leader->step("second", true);
  EXPECT_EQ(follower->next_step(5), "second");
  auto theirs = std::async(std::launch::async, [&] { return follower->exchange("words", 0, "mine", 5); });
  EXPECT_EQ(leader->exchange("words", 1, "", 5), "mine");
  theirs.get();
}

TEST_F(PeerTest, AFollowerThatWaitsHearsThatTheLeaderWentOn) {
  auto ends = meet_each_other();
  auto &leader = ends.leader, &follower = ends.follower;
  leader->step("run", true);
  follower->next_step(5);
  leader->step("clean up", false);
  EXPECT_EQ(thrown([&] { follower->exchange("start together", 0, "", 5); }),
            "start together: " + follower->who(0) + " gave up");
  EXPECT_EQ(follower->lost(), follower->who(0) + " gave up");
  EXPECT_EQ(follower->next_step(5), "clean up");
}

TEST_F(PeerTest, RefusesAWrongToken) {
  std::string logged;
  EXPECT_NE(refusal("wort", &logged).find("wrong token"), std::string::npos);
  EXPECT_NE(logged.find("127.0.0.1 was turned away: wrong token"), std::string::npos) << logged;
  EXPECT_NE(refusal("").find("wrong token"), std::string::npos);
}

TEST_F(PeerTest, TakesOneAtATime) {
  auto pair = meet_each_other();
  const std::string why = thrown([&] { meet(there(), "a word of the listener", 5); });
  EXPECT_NE(why.find("busy with " + pair.follower->host(0)), std::string::npos) << why;
  EXPECT_NE(thrown([&] { meet(there(), "not the word of the listener", 5); }).find("wrong token"), std::string::npos);
}

TEST_F(PeerTest, TheNextOneWaitsWhileTheFirstOneEnds) {
  auto first = meet_each_other();
  auto leader = std::async(std::launch::async, [&] { return meet(there(), "a word of the listener", 5); });
  // It is there, and greeted by nobody: accept() is not called yet.
  EXPECT_EQ(leader.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  first.follower.reset();
  auto follower = listener.accept(5, kNoLog, kNever);
  ASSERT_TRUE(follower);
  auto second = leader.get();
  second->step("second", true);
  EXPECT_EQ(follower->next_step(5), "second");
}

TEST_F(PeerTest, ReportsAMissingListener) {
  Endpoint nowhere = there();
  {
    const Listener gone({"127.0.0.1", 0}, "a word of the listener");
    nowhere = parse_endpoint(gone.address(), "--peer");
  }
  const std::string why = thrown([&] { meet(nowhere, "a word of the listener", 5); });
  EXPECT_NE(why.find("Connection refused (ECONNREFUSED): no program listens there: start `headrace run --serve"),
            std::string::npos)
      << why;
  EXPECT_NE(thrown([] {
              meet({"no-such-host.invalid", 1}, "a word of the listener", 5);
            }).find("peer no-such-host.invalid: "),
            std::string::npos);
}

TEST_F(PeerTest, DropsStrangers) {
  auto follower = std::async(std::launch::async, [&] { return listener.accept(5, kNoLog, kNever); });
  const Endpoint at = there();
  {
    const system::UniqueFd stranger(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(at.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(stranger.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    const std::string noise(100'000, 'x');
    ::send(stranger.get(), noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  EXPECT_TRUE(meet(at, "a word of the listener", 5));
  EXPECT_TRUE(follower.get());
}

TEST_F(PeerTest, WaitsForALimitedTime) { EXPECT_FALSE(listener.accept(0.05, kNoLog, kNever)); }

TEST(Listener, RefusesAddressesThatThisMachineDoesNotHave) {
  EXPECT_NE(thrown([] {
              Listener({"192.0.2.1", 0}, "a word of the listener");
            }).find("this machine does not have this address"),
            std::string::npos);
}

TEST(Greeting, DistinguishesVersions) {
  const Greeting here{.token = "", .host = "a", .version = "0.1.0", .protocol = 1, .refused = ""};
  Greeting there = here;
  there.host = "b";
  EXPECT_EQ(versions_differ(here, there), "");
  there.version = "0.2.0";
  EXPECT_EQ(
      versions_differ(here, there),
      "headrace 0.1.0 (peer protocol 1) on a and 0.2.0 (peer protocol 1) on b do not fit: install the same version "
      "on both");
  there.version = here.version;
  there.protocol = 2;
  EXPECT_NE(versions_differ(here, there), "");
  EXPECT_EQ(greeting_from(to_bytes(there)).protocol, 2u);
  EXPECT_THROW(greeting_from("GET / HTTP/1.1"), RunError);
  EXPECT_THROW(greeting_from("{\"host\": 7}"), RunError);
}

TEST(Greeting, GivesBackNoToken) {
  const std::string token = "0123456789abcdef";
  Greeting evil = own_greeting();
  evil.token = token;
  evil.host = "host-" + token;
  evil.refused = "no: 0123456789ABCDEF";
  const Greeting heard = greeting_from(to_bytes(evil), Secrets({token}, Secrets::kWhole));
  EXPECT_EQ(heard.host, "host-****************");
  EXPECT_EQ(heard.refused, "no: ****************");
  EXPECT_EQ(heard.token, token) << "the listener compares it";
}

TEST(ParseEndpoint, TakesHostsAndPorts) {
  EXPECT_EQ(parse_endpoint("node-b", "--peer").port, kPort);
  EXPECT_EQ(parse_endpoint("10.0.0.2:7000", "--peer").port, 7000);
  EXPECT_EQ(parse_endpoint("[fd00::2]:7000", "--peer").host, "fd00::2");
  EXPECT_EQ(parse_endpoint("fd00::2", "--peer").host, "fd00::2");
  for (const char* wrong :
       {"", ":7000", "node-b:", "node-b:x", "node-b:70000", "[fd00::2", "[fd00::2]7000", "[fd00::2]:"})
    EXPECT_THROW(parse_endpoint(wrong, "--peer"), UsageError) << wrong;
}

}  // namespace
}  // namespace headrace::peer::peer_test
