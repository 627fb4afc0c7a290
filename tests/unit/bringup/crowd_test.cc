// Agents on many hosts asked at once, here as shells of this machine: whatever one does, the others' answers count.
#include "harness/bringup/agents/crowd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "harness/base/version.h"
#include "harness/bringup/agents/protocol.h"

namespace headrace::agents::crowd_test {
namespace {

constexpr double kLong_s = 120;

/// Says that it is there, and then does this. `answer N` answers with a number.
std::string agent(const std::string& script) {
  return fmt::format(
      R"(answer() {{ echo '{0}{{"number": '$1'}}'; }}; echo '{0}{{"agent": {1}, "version": "{2}"}}'; {3})", kMark,
      kProtocol, kVersion, script);
}

const std::string kCounts = agent(R"(number=0; while read -r line; do number=$((number + 1)); answer $number; done)");

bool never() { return false; }

Crowd& started(Crowd& crowd) {
  crowd.start(kLong_s, [](std::size_t) {});
  return crowd;
}

TEST(Crowd, ARequestMayBeLongerThanAPipe) {
  const std::string measures = agent(R"(while read -r line; do answer ${#line}; done)");
  Crowd crowd({measures, measures, measures}, never);
  started(crowd);
  std::map<std::size_t, std::string> requests;
  for (std::size_t host = 0; host < 3; ++host) requests[host] = std::string(200'000 + host, 'x');
  const auto replies = crowd.ask(requests, kLong_s);
  for (std::size_t host = 0; host < 3; ++host)
    EXPECT_EQ(replies.at(host).text, fmt::format(R"({{"number": {}}})", 200'000 + host)) << replies.at(host).why;
}

TEST(Crowd, OneThatIsLateHasASecondChanceAndItsLateAnswerIsNoOther) {
  // Its first answer comes after the second question.
  Crowd crowd({agent(R"(read -r line; read -r line; answer 1; answer 2)")}, never);
  started(crowd);
  EXPECT_EQ(crowd.ask({{0, "{}"}}, 0.1).at(0).why, "no answer within 0 s");
  EXPECT_TRUE(crowd.there(0));
  EXPECT_FALSE(crowd.answers(0));
  EXPECT_EQ(crowd.ask({{0, "{}"}}, kLong_s).at(0).text, R"({"number": 2})");
  EXPECT_TRUE(crowd.answers(0));
}

TEST(Crowd, OneThatIsSilentTwiceIsGivenUp) {
  Crowd crowd({agent("sleep 1000"), kCounts}, never);
  started(crowd);
  for (const bool there : {true, false}) {
    crowd.ask({{0, "{}"}}, 0.1);
    EXPECT_EQ(crowd.there(0), there);
  }
  EXPECT_NE(crowd.failure(0).why.find("twice in a row"), std::string::npos);
  EXPECT_EQ(crowd.ask({{0, "{}"}, {1, "{}"}}, kLong_s).at(1).text, R"({"number": 1})");
}

TEST(Crowd, AnswersDuringAStopAreInTime) {
  bool stops = false;
  Crowd crowd({kCounts, kCounts}, [&] {
    if (stops) std::this_thread::sleep_for(std::chrono::seconds(4));  // as SIGSTOP does, for longer than the patience
    return stops = false;
  });
  started(crowd);
  crowd.ask({{0, "{}"}, {1, "{}"}}, kLong_s);
  stops = true;
  const auto replies = crowd.ask({{0, "{}"}, {1, "{}"}}, 2);
  for (const std::size_t host : {0, 1}) EXPECT_EQ(replies.at(host).text, R"({"number": 2})") << replies.at(host).why;
}

TEST(Crowd, OneThatSendsWithoutEndCostsItselfAlone) {
  const std::string much = "head -c 5000000 /dev/zero | tr '\\0' x";
  Crowd crowd({agent(much), agent("exec yes >&2"), kCounts}, never);
  started(crowd);
  const auto replies = crowd.ask({{0, "{}"}, {1, "{}"}, {2, "{}"}}, 8);
  EXPECT_NE(replies.at(0).why, "");
  EXPECT_NE(replies.at(1).why, "");
  EXPECT_EQ(replies.at(2).text, R"({"number": 1})");
}

TEST(Crowd, AMissingLauncherIsNotAMissingHeadrace) {
  Crowd crowd({"no-such-launcher a headrace", "sh -c no-such-headrace"}, never);
  started(crowd);
  EXPECT_EQ(crowd.failure(0).why, "the launcher no-such-launcher is not on this machine");
  EXPECT_EQ(crowd.failure(0).fix, "install it or give --launch");
  EXPECT_TRUE(crowd.failure(1).why.starts_with("headrace is not there")) << crowd.failure(1).why;
  EXPECT_NE(crowd.failure(1).fix.find("--remote"), std::string::npos);
}

}  // namespace
}  // namespace headrace::agents::crowd_test
