#include "harness/backends/posix/streams.h"

#include <sys/socket.h>

#include <cerrno>

namespace headrace {
namespace {

/// The socket's own time limit ends a call with EAGAIN; a signal does the same here.
std::int64_t describe(ssize_t result) {
  if (result >= 0) return result;
  return errno == EINTR ? -EAGAIN : -errno;
}

class PosixMover final : public StreamMover {
 public:
  std::int64_t send(int socket, std::span<const char> data) override {
    return describe(::send(socket, data.data(), data.size(), MSG_NOSIGNAL));
  }
  std::int64_t receive(int socket, std::span<char> data) override {
    return describe(::recv(socket, data.data(), data.size(), 0));
  }
};

class PosixStreams final : public StreamEngine {
 public:
  std::unique_ptr<StreamMover> mover() override { return std::make_unique<PosixMover>(); }
};

}  // namespace

std::unique_ptr<StreamEngine> make_posix_streams() { return std::make_unique<PosixStreams>(); }

}  // namespace headrace
