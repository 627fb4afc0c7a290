// A thread's wait, by the kernel's /proc/PID/task/TID/syscall.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>

namespace headrace::observe {

/// Where a thread was found.
enum class Wait : std::uint8_t {
  running,    // on a processor, or ready for one
  read,       // reading a file from storage
  name,       // opening, closing, asking for attributes, listing
  write,      // writing a file, syncing, renaming, removing
  fault,      // outside of any call and not running: a page of a mapped file, or of memory, is fetched
  hand_over,  // a lock, pipe, socket or other process: another one gives or takes the data
  lock,       // Python's interpreter lock: another thread of the process computes
  gpu,        // a call into a GPU's driver, or a wait for its events
  sleep,      // a pause of its own
  other,      // any other call
};
inline constexpr std::size_t kWaits = 10;
using WaitCounts = std::array<std::uint32_t, kWaits>;

inline double of(const WaitCounts& counts, Wait wait) { return counts[static_cast<std::size_t>(wait)]; }
inline double total(const WaitCounts& counts) { return std::accumulate(counts.begin(), counts.end(), 0.0); }

/// 0: of nothing.
inline double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// As it is in files: "running", "storage_read", "storage_names" ...
std::string_view to_string(Wait wait);

inline bool is_storage(Wait wait) {
  return wait == Wait::read || wait == Wait::name || wait == Wait::write || wait == Wait::fault;
}

/// One line of /proc/PID/task/TID/syscall.
struct SyscallLine {
  bool running = false;
  long number = -1;  // -1: not running, and in no call
  std::array<std::uint64_t, 6> arguments{};
};
/// Nothing for another line (a thread that ended gives none).
std::optional<SyscallLine> parse_syscall(std::string_view line) noexcept;

/// The target of a file descriptor, by its link in /proc/PID/fd.
enum class FdKind : std::uint8_t { unknown, file, hand_over, gpu, memory, device };
FdKind fd_kind(std::string_view link) noexcept;

/// The deciding part of a call: some show what they wait for only together with their file descriptor.
enum class CallKind : std::uint8_t { read, write, name, change, hand_over, sleep, ioctl, files_in_flight, other };
CallKind call_kind(long number) noexcept;

/// Does it take the descriptor to show what it waits for?
inline bool needs_fd(CallKind kind) {
  return kind == CallKind::read || kind == CallKind::write || kind == CallKind::ioctl;
}
/// Is argument 0 (or 1, of the *at() calls) the path of a file?
struct PathArgument {
  int folder = -1, path = -1;  // indices of arguments; -1: none
};
PathArgument path_argument(long number) noexcept;

/// Does it wait for the word in memory that its first argument is the address of?
bool is_futex(long number) noexcept;

/// Are its first two arguments a list of descriptors and how many there are?
bool is_poll(long number) noexcept;

Wait wait_of(CallKind kind, FdKind fd) noexcept;

}  // namespace headrace::observe
