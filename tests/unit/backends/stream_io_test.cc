#include "harness/backends/stream_io.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/base/diagnostics.h"

namespace headrace::stream_io_test {
namespace {

/// Two ends whose calls end after a moment without anything moving, as those of TcpMesh.
struct Ends {
  Ends() {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    const timeval moment{0, 50'000};
    for (const int each : fd) {
      ::setsockopt(each, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
      ::setsockopt(each, SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment);
    }
  }
  ~Ends() {
    for (const int each : fd)
      if (each >= 0) ::close(each);
  }
  void close(int end) { ::close(std::exchange(fd[end], -1)); }
  int fd[2] = {-1, -1};
};

class StreamIo : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = backends_.why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
    engine_ = &backends_.streams(GetParam());
  }
  Backends backends_;
  StreamEngine* engine_ = nullptr;
};

TEST_P(StreamIo, EveryByteComesInOrder) {
  Ends ends;
  std::vector<char> sent(3'000'001), received(sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 253);
  std::thread sender([&] {
    const auto mover = engine_->mover();
    mover->attach();
    for (std::size_t at = 0; at < sent.size();) {
      const std::size_t length = std::min<std::size_t>(100'000, sent.size() - at);
      const std::int64_t done = mover->send(ends.fd[0], {sent.data() + at, length});
      if (done == -EAGAIN) continue;
      ASSERT_GT(done, 0);
      at += static_cast<std::size_t>(done);
    }
  });
  const auto mover = engine_->mover();
  mover->attach();
  for (std::size_t at = 0; at < received.size();) {
    const std::int64_t done = mover->receive(ends.fd[1], {received.data() + at, received.size() - at});
    if (done == -EAGAIN) continue;
    EXPECT_GT(done, 0);
    if (done <= 0) break;
    at += static_cast<std::size_t>(done);
  }
  sender.join();
  EXPECT_EQ(sent, received);
}

TEST_P(StreamIo, SilenceEndsACallAndTheNextGoesOn) {
  Ends ends;
  const auto mover = engine_->mover();
  mover->attach();
  char word[4] = {};
  EXPECT_EQ(mover->receive(ends.fd[1], word), -EAGAIN);
  ASSERT_EQ(::send(ends.fd[0], "word", 4, 0), 4);
  EXPECT_EQ(mover->receive(ends.fd[1], word), 4);
  EXPECT_EQ(std::string(word, 4), "word");
}

TEST_P(StreamIo, AClosedConnectionIsReported) {
  Ends ends;
  const auto mover = engine_->mover();
  mover->attach();
  ends.close(0);
  char word[4] = {};
  EXPECT_EQ(mover->receive(ends.fd[1], word), 0);
  EXPECT_EQ(mover->send(ends.fd[1], word), -EPIPE);
}

INSTANTIATE_TEST_SUITE_P(Engines, StreamIo, ::testing::Values("posix", "io_uring"));

TEST(StreamEngines, OtherBackendsMoveNothingOverSockets) {
  Backends backends;
  EXPECT_THROW(backends.streams("mmap"), UsageError);
  EXPECT_THROW(backends.streams("nosuch"), UsageError);
}

}  // namespace
}  // namespace headrace::stream_io_test
