// Resource limits of this process, in words.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>

namespace headrace::system {

struct Limit {
  std::uint64_t soft = 0, hard = 0;
  static constexpr std::uint64_t kUnlimited = RLIM_INFINITY;
};

/// RLIMIT_NOFILE, RLIMIT_MEMLOCK ...; zeros when the kernel does not report them.
Limit limit_of(int resource);

/// Raises this process's limit of open files for `more` files than now, as far as allowed. Returns the number of files
/// that can then be opened in addition.
std::uint64_t make_room_for_files(std::uint64_t more);

/// The limits that processes of one user share on this machine.
struct SharedMemory {
  std::uint64_t size = 0, free = 0;  // [B]; both kUnlimited: it may take all memory
};
/// The file system that shm_open() uses. nothing: it is not there, so that no process can share memory by name.
std::optional<SharedMemory> shared_memory(const std::string& path = "/dev/shm");

/// Processes and threads that this process may start, and the limiting setting: "pids.max of the control group".
struct TasksLeft {
  std::uint64_t count = Limit::kUnlimited;
  std::string by;
};
/// `root` is where /proc and /sys are looked for.
TasksLeft tasks_left(const std::string& root = "");

/// "1024 (up to 524288)", "8.00 MiB", "unlimited".
std::string limit_in_words(const Limit& limit, bool bytes);

// This process's rights, which its user's number does not show: root in a container has few.

/// CAP_IPC_LOCK over the whole machine: its locked memory has no limit. `root` is where /proc is looked for.
bool may_lock_all_memory(const std::string& root = "");

}  // namespace headrace::system
