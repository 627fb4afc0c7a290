#include "harness/base/system/socket.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <future>
#include <thread>

#include "harness/base/error.h"

namespace headrace::system::socket_test {
namespace {

constexpr double kLong_s = 120;  // a guard: what is waited for comes long before

/// A listener on the loopback, and the two ends of a connection to it.
struct SocketTest : ::testing::Test {
  SocketAddress at(std::uint16_t port) const { return SocketAddress::numeric("127.0.0.1", port).value(); }
  UniqueFd listen(std::uint16_t& port) const {
    int error = 0;
    UniqueFd listener = listening_at(at(0), error);
    EXPECT_EQ(error, 0) << errno_text(error);
    port = SocketAddress::of_socket(listener.get()).port();
    return listener;
  }
  SocketTest() {
    std::uint16_t port = 0;
    const UniqueFd listener = listen(port);
    Connected there = connected(at(port), Deadline(kLong_s));
    EXPECT_EQ(there.error, 0) << errno_text(there.error);
    near = std::move(there.socket);
    EXPECT_TRUE(wait_readable(listener.get(), Deadline(kLong_s)));
    Accepted caller = accepted(listener.get());
    EXPECT_TRUE(caller);
    EXPECT_EQ(caller.from.text(), SocketAddress::of_socket(near.get()).text());
    EXPECT_FALSE(accepted(listener.get())) << "nobody else waits";
    far = std::move(caller.socket);
  }
  UniqueFd near, far;
};

/// Closes with data unread, and at once: the other end gets ECONNRESET.
void reset(UniqueFd& fd) {
  const linger now{1, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  fd = UniqueFd();
}

TEST(SocketAddress, IsReadAndWritten) {
  EXPECT_EQ(SocketAddress::numeric("10.0.0.2", 18620)->text(), "10.0.0.2:18620");
  EXPECT_EQ(SocketAddress::numeric("fd00::2", 7)->text(), "[fd00::2]:7");
  EXPECT_EQ(SocketAddress::numeric("fd00::2", 7)->host(), "fd00::2");
  EXPECT_EQ(SocketAddress::numeric("::1", 65535)->port(), 65535);
  for (const char* none : {"", "node-b", "10.0.0", "10.0.0.2:80", "fd00::g"})
    EXPECT_FALSE(SocketAddress::numeric(none, 1)) << none;
  EXPECT_EQ(SocketAddress::of_host("peer", "127.0.0.1", 9).front().text(), "127.0.0.1:9");
  try {
    SocketAddress::of_host("peer", "no-such-host.invalid", 9);
    ADD_FAILURE() << "there is such a host";
  } catch (const RunError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("peer no-such-host.invalid: ")) << e.what();
  }
}

TEST_F(SocketTest, CarriesWholeMessages) {
  // More than the kernel keeps of both ends: it goes in parts, and both wait for each other.
  const std::string all(20'000'000, 'x');
  auto sent = std::async(std::launch::async, [&] { return send_all(near.get(), all, Deadline(kLong_s)); });
  std::string got(all.size(), '\0');
  EXPECT_TRUE(receive_all(far.get(), got, Deadline(kLong_s)));
  EXPECT_TRUE(sent.get());
  EXPECT_EQ(got, all);
  EXPECT_EQ(receive_some(far.get(), got), 0u) << "nothing more is there, and the connection stands";
}

TEST_F(SocketTest, IsTheSameOnSocketsThatBlock) {
  set_blocking(near.get(), true);
  set_blocking(far.get(), true);
  std::string got(4, '\0');
  EXPECT_EQ(receive_some(far.get(), got), 0u);
  EXPECT_FALSE(receive_all(far.get(), got, Deadline(0.01)));
  ASSERT_TRUE(send_all(near.get(), "word", Deadline(kLong_s)));
  EXPECT_TRUE(receive_all(far.get(), got, Deadline(kLong_s)));
  EXPECT_EQ(got, "word");
}

TEST_F(SocketTest, APeerThatNeverAnswersCostsTheDeadlineAndNoLess) {
  const std::uint64_t begin = now_ns();
  std::string answer(1, '\0');
  EXPECT_FALSE(wait_readable(near.get(), Deadline(0.05)));
  EXPECT_GE(seconds_since(begin), 0.05);
  EXPECT_FALSE(receive_all(near.get(), answer, Deadline(0.05)));
  EXPECT_GE(seconds_since(begin), 0.1);
  EXPECT_LT(seconds_since(begin), kLong_s);
}

TEST_F(SocketTest, APeerThatNeverReadsIsNotWrittenToForever) {
  const std::string all(64'000'000, 'x');
  const std::uint64_t begin = now_ns();
  EXPECT_FALSE(send_all(near.get(), all, Deadline(0.05)));
  EXPECT_GE(seconds_since(begin), 0.05);
}

TEST_F(SocketTest, APartialMessageIsNone) {
  ASSERT_TRUE(send_all(near.get(), "wo", Deadline(kLong_s)));
  std::string got(4, '\0');
  EXPECT_FALSE(receive_all(far.get(), got, Deadline(0.05))) << "two bytes of four";
  near = UniqueFd();
  ASSERT_TRUE(wait_readable(far.get(), Deadline(kLong_s))) << "an end is something to read";
  EXPECT_FALSE(receive_all(far.get(), got, Deadline(kLong_s)));
  EXPECT_EQ(receive_some(far.get(), got), std::nullopt);
}

TEST_F(SocketTest, APeerThatResetsEndsBothDirections) {
  ASSERT_TRUE(send_all(near.get(), "word", Deadline(kLong_s)));
  reset(far);
  ASSERT_TRUE(wait_readable(near.get(), Deadline(kLong_s)));
  std::string got(4, '\0');
  EXPECT_FALSE(receive_all(near.get(), got, Deadline(kLong_s)));
  EXPECT_FALSE(send_all(near.get(), "more", Deadline(kLong_s)));
}

TEST_F(SocketTest, BytesThatComeLateComeWhole) {
  auto sent = std::async(std::launch::async, [&] {
    for (const char* part : {"w", "or", "d"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      if (!send_all(near.get(), part, Deadline(kLong_s))) return false;
    }
    return true;
  });
  std::string got(4, '\0');
  EXPECT_TRUE(receive_all(far.get(), got, Deadline(kLong_s)));
  EXPECT_EQ(got, "word");
  EXPECT_TRUE(sent.get());
}

TEST_F(SocketTest, ReportsWhichOfManyHasSomething) {
  const std::vector<int> both{near.get(), far.get()};
  EXPECT_EQ(readable(both, 0), (std::vector<bool>{false, false}));
  ASSERT_TRUE(send_all(near.get(), "x", Deadline(kLong_s)));
  EXPECT_EQ(readable(both, kLong_s), (std::vector<bool>{false, true}));
  reset(far);
  EXPECT_EQ(readable(std::vector<int>{near.get()}, kLong_s), std::vector<bool>{true});
}

TEST_F(SocketTest, ARefusedPortIsReportedAtOnce) {
  std::uint16_t port = 0;
  listen(port);  // and closed again: nobody is there
  const Connected nobody = connected(at(port), Deadline(kLong_s));
  EXPECT_EQ(nobody.error, ECONNREFUSED) << errno_text(nobody.error);
  EXPECT_FALSE(nobody.socket);
}

TEST_F(SocketTest, AHostThatDoesNotTakeCallsCostsTheDeadline) {
  // A listener whose queue is full: the kernel drops what comes, as a firewall does.
  std::uint16_t port = 0;
  const UniqueFd listener = listen(port);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  std::vector<Connected> waiting;
  int error = 0;
  while (error == 0 && waiting.size() < 64) {
    waiting.push_back(connected(at(port), Deadline(0.2)));
    error = waiting.back().error;
  }
  EXPECT_EQ(error, ETIMEDOUT) << errno_text(error);
  EXPECT_FALSE(waiting.back().socket);
}

TEST_F(SocketTest, OneAddressIsListenedAtOnce) {
  std::uint16_t port = 0;
  const UniqueFd first = listen(port);
  int error = 0;
  EXPECT_FALSE(listening_at(at(port), error));
  EXPECT_EQ(error, EADDRINUSE);
  EXPECT_FALSE(listening_at(SocketAddress::numeric("192.0.2.1", 0).value(), error));
  EXPECT_EQ(error, EADDRNOTAVAIL);
}

TEST(Listening, OnAllAddressesTakesIPv4) {
  const UniqueFd all = listening();
  const std::uint16_t port = SocketAddress::of_socket(all.get()).port();
  EXPECT_EQ(connected(SocketAddress::numeric("127.0.0.1", port).value(), Deadline(kLong_s)).error, 0);
  EXPECT_THROW(listening("no-such-if0"), RunError);
}

TEST(Connecting, ByAnInterfaceThatIsNotThereFails) {
  const Connected none = connected(SocketAddress::numeric("127.0.0.1", 9).value(), Deadline(kLong_s), "no-such-if0");
  EXPECT_NE(none.error, 0);
  EXPECT_FALSE(none.socket);
}

TEST(Deadline, IsOverWhenItsTimeIs) {
  EXPECT_TRUE(Deadline(0).over());
  EXPECT_TRUE(Deadline(-1).over());
  EXPECT_EQ(Deadline(0).left_s(), 0);
  const Deadline far(1e30);
  EXPECT_FALSE(far.over());
  EXPECT_GT(far.left_s(), 1e8);
  EXPECT_LE(far.left_s(), 1e9);
}

}  // namespace
}  // namespace headrace::system::socket_test
