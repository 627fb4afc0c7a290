// Blocks over sockets. The kernel continues a block until it is whole, so a thread wakes once per block and not per
// segment.
#include <sys/socket.h>

#include <cerrno>

#include "harness/backends/uring/ring.h"
#include "harness/backends/uring/uring_engine.h"
#include "harness/base/clock.h"

namespace headrace::uring {
namespace {

class UringMover final : public StreamMover {
 public:
  explicit UringMover(Notes& notes) : notes_(notes) {}

  void attach() override {
    ring_.reset();
    in_flight_ = false;
    ring_ = std::make_unique<Ring>(4, notes_);
  }
  std::int64_t send(int socket, std::span<const char> data) override {
    if (!in_flight_) io_uring_prep_send(ring_->request(), socket, data.data(), data.size(), MSG_NOSIGNAL | MSG_WAITALL);
    return finish();
  }
  std::int64_t receive(int socket, std::span<char> data) override {
    if (!in_flight_) io_uring_prep_recv(ring_->request(), socket, data.data(), data.size(), MSG_WAITALL);
    return finish();
  }

 private:
  static constexpr std::uint64_t kCall_ns = 200'000'000;

  /// Finishes the request that was made, now or before.
  std::int64_t finish() {
    in_flight_ = true;
    ring_->enter_until(now_ns() + kCall_ns);
    std::int64_t result = -EAGAIN;
    ring_->reap([&](std::uint64_t, int reported) {
      result = reported;
      in_flight_ = false;
    });
    return result;
  }

  Notes& notes_;
  std::unique_ptr<Ring> ring_;
  bool in_flight_ = false;  // after a call that ended with -EAGAIN
};

class UringStreams final : public StreamEngine {
 public:
  std::unique_ptr<StreamMover> mover() override { return std::make_unique<UringMover>(notes_); }
  std::vector<std::string> take_notes() override { return notes_.take(); }

 private:
  Notes notes_;
};

}  // namespace

std::unique_ptr<StreamEngine> make_streams() { return std::make_unique<UringStreams>(); }

}  // namespace headrace::uring
