#include "harness/backends/uring/ring.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <vector>

#include "harness/base/clock.h"
#include "harness/base/error.h"

namespace headrace::uring {
namespace {

struct Setup {
  unsigned flags;
  const char* lacks;  // the feature that a refusing kernel lacks
};

/// From best to plainest. With the first, completions are worked off only when this thread asks for them, in a batch.
/// With the second, at the next system call. With the last they interrupt the thread.
constexpr std::array kSetups{
    Setup{IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN, "deferred task work (Linux 6.1)"},
    Setup{IORING_SETUP_COOP_TASKRUN, "cooperative task work (Linux 5.19)"},
    Setup{0, ""},
};

}  // namespace

std::string setup_failure(int code) {
  std::string text = "io_uring_setup: " + errno_text(code);
  text.pop_back();  // the reasons are in the same brackets
  std::ifstream setting("/proc/sys/kernel/io_uring_disabled");
  if (std::string value; setting >> value) text += "; kernel.io_uring_disabled = " + value;
  if (code == EPERM) text += "; a seccomp filter may also forbid it, as containers do";
  if (code == ENOMEM) text += "; the limit on locked memory may be too low";
  return text + ")";
}

Ring::Ring(unsigned entries, Notes& notes, Polling polling) {
  const unsigned completion = polling.completion ? IORING_SETUP_IOPOLL : 0;
  int result = -EINVAL;
  if (polling.submission) {
    result = io_uring_queue_init(entries, &ring_, IORING_SETUP_SQPOLL | completion | IORING_SETUP_CLAMP);
    if (result < 0) notes.add(std::string("io_uring: no polling for submissions: ") + std::strerror(-result));
  }
  for (const Setup& setup : kSetups) {
    if (result >= 0) break;
    result = io_uring_queue_init(entries, &ring_, setup.flags | completion | IORING_SETUP_CLAMP);
    if (result < 0 && result != -EINVAL) break;
    if (result < 0 && setup.flags) notes.add(std::string("io_uring: this kernel has no ") + setup.lacks);
  }
  if (result < 0) throw RunError(setup_failure(-result));
  io_uring_register_ring_fd(&ring_);  // saves a look-up per system call where the kernel has it
}

void Ring::register_memory(std::span<const unsigned char> memory, Notes& notes) {
  constexpr std::size_t kPiece = std::size_t{1} << kPieceBits;
  std::vector<iovec> pieces;
  for (std::size_t at = 0; at < memory.size(); at += kPiece) {
    pieces.push_back({const_cast<unsigned char*>(memory.data() + at), std::min(kPiece, memory.size() - at)});
  }
  const int result = io_uring_register_buffers(&ring_, pieces.data(), static_cast<unsigned>(pieces.size()));
  if (result >= 0) {
    registered_ = memory;
  } else {
    notes.add(std::string("io_uring: memory not registered: ") + std::strerror(-result) +
              (result == -ENOMEM ? " (raise the limit on locked memory)" : ""));
  }
}

bool Ring::register_files(std::span<const int> fds, Notes& notes) {
  const int result = io_uring_register_files(&ring_, fds.data(), static_cast<unsigned>(fds.size()));
  if (result < 0) notes.add(std::string("io_uring: files not registered: ") + std::strerror(-result));
  return result >= 0;
}

bool Ring::register_places(unsigned count) { return io_uring_register_files_sparse(&ring_, count) >= 0; }

void Ring::enter(unsigned wait_for) {
  for (;;) {
    const int result = wait_for ? io_uring_submit_and_wait(&ring_, wait_for) : io_uring_submit_and_get_events(&ring_);
    if (result >= 0) return;
    if (result != -EINTR && result != -EAGAIN && result != -EBUSY)
      throw system_error("io_uring_enter", "submitting reads", -result);
    wait_for = 0;  // interrupted, or out of memory for a moment: the owner takes the completions so far
    if (io_uring_cq_ready(&ring_) || io_uring_sq_ready(&ring_) == 0) return;
  }
}

void Ring::enter_until(std::uint64_t until_ns) {
  const std::uint64_t wake = until_ns - std::min(until_ns, kWakeEarly), now = now_ns();
  if (wake <= now || polls_completion() || (ring_.features & IORING_FEAT_EXT_ARG) == 0) return enter(0);
  constexpr std::uint64_t kSecond = 1'000'000'000;
  __kernel_timespec time{.tv_sec = static_cast<long long>((wake - now) / kSecond),
                         .tv_nsec = static_cast<long long>((wake - now) % kSecond)};
  io_uring_cqe* first = nullptr;
  const int result = io_uring_submit_and_wait_timeout(&ring_, &first, 1, &time, nullptr);
  if (result < 0 && result != -ETIME && result != -EINTR && result != -EAGAIN && result != -EBUSY)
    throw system_error("io_uring_enter", "submitting reads", -result);
}

}  // namespace headrace::uring
