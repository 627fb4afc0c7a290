// One io_uring of one thread: made with the best that the kernel has, torn down with its owner.
#pragma once

#include <liburing.h>

#include <cstdint>
#include <span>
#include <string>

#include "harness/backends/buffers.h"
#include "harness/backends/notes.h"

namespace headrace::uring {

/// "io_uring_setup: Operation not permitted (EPERM; kernel.io_uring_disabled = 2)".
std::string setup_failure(int code);

/// How a ring is used besides the ordinary way.
struct Polling {
  bool submission = false;  // a kernel thread takes requests without being called
  bool completion = false;  // the device is asked for completions; direct reads and writes only
};

/// Belongs to the thread that made it.
class Ring {
 public:
  /// Room for `entries` requests. Throws RunError when the kernel gives no ring; lesser rings are
  /// noted.
  Ring(unsigned entries, Notes& notes, Polling polling = {});
  ~Ring() { io_uring_queue_exit(&ring_); }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// Registers the memory of requests, so that the kernel need not look up its pages for each one. Noted when it may
  /// not be pinned.
  void register_memory(std::span<const unsigned char> memory, Notes& notes);
  /// Registers open files by position. False (and noted) when the kernel does not take them.
  bool register_files(std::span<const int> fds, Notes& notes);
  /// Makes `count` empty places for files opened through the ring. False when the kernel cannot.
  bool register_places(unsigned count);
  bool polls_submission() const noexcept { return (ring_.flags & IORING_SETUP_SQPOLL) != 0; }
  bool polls_completion() const noexcept { return (ring_.flags & IORING_SETUP_IOPOLL) != 0; }
  /// Can a request use the file that a request linked before it opens (Linux 5.19)?
  bool has_linked_files() const noexcept { return (ring_.features & IORING_FEAT_LINKED_FILE) != 0; }

  /// From now on each request goes to the device at once. The kernel batches more than two requests that are submitted
  /// together. The device sees the batch when the last of them is ready. That is good for cached data, but a device
  /// that waits for work gave a fifth less random reads.
  void submit_unbatched() noexcept { rank_sync_ = 2; }

  /// An empty request; the ones asked for before are complete. Owners never ask for more than
  /// `entries` between two calls of enter().
  io_uring_sqe* request() noexcept {
    if (io_uring_sq_ready(&ring_) >= rank_sync_)
      io_uring_submit(&ring_);  // a failed request stays, and is reported by enter()
    return io_uring_get_sqe(&ring_);
  }
  /// Make a request a read or write, of registered memory where the buffer is in it.
  void prepare_read(io_uring_sqe* sqe, int file, unsigned char* to, std::uint64_t length,
                    std::uint64_t offset) const noexcept {
    const auto size = static_cast<unsigned>(length);
    if (const int buffer = buffer_of(to, length); buffer >= 0) {
      io_uring_prep_read_fixed(sqe, file, to, size, offset, buffer);
    } else {
      io_uring_prep_read(sqe, file, to, size, offset);
    }
  }
  void prepare_write(io_uring_sqe* sqe, int file, const unsigned char* from, std::uint64_t length,
                     std::uint64_t offset) const noexcept {
    const auto size = static_cast<unsigned>(length);
    if (const int buffer = buffer_of(from, length); buffer >= 0) {
      io_uring_prep_write_fixed(sqe, file, from, size, offset, buffer);
    } else {
      io_uring_prep_write(sqe, file, from, size, offset);
    }
  }
  /// Submits the prepared requests and waits for at least `wait_for` completions. Throws RunError.
  void enter(unsigned wait_for);
  /// Submits the prepared requests, and waits for a completion until shortly before `until_ns`. It does not wait in the
  /// time left, so that the caller returns in time. A ring that polls, or a kernel that cannot wait so (before Linux
  /// 5.11), never waits.
  void enter_until(std::uint64_t until_ns);
  /// Takes every completion that is there: f(user_data, result).
  template <class F>
  void reap(F&& f) {
    unsigned head, count = 0;
    io_uring_cqe* cqe;
    io_uring_for_each_cqe(&ring_, head, cqe) {
      f(cqe->user_data, cqe->res);
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
  }

 private:
  static constexpr int kPieceBits = 30;  // 1 GiB: the kernel's limit for one buffer

  /// The registered buffer that contains all of it, or -1.
  int buffer_of(const unsigned char* begin, std::uint64_t length) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(registered_.data());
    if (at >= registered_.size() || length == 0) return -1;
    const std::uint64_t piece = at >> kPieceBits;
    return piece == (at + length - 1) >> kPieceBits ? static_cast<int>(piece) : -1;
  }

  unsigned rank_sync_ = UINT32_MAX;
  std::span<const unsigned char> registered_;
  io_uring ring_{};
};

}  // namespace headrace::uring
