// The files of /proc by which a process is watched, kept open. They are read again without a path, an allocation or a
// lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/system/unique_fd.h"
#include "harness/observe/sampling/recording.h"

namespace headrace::observe {

/// A file read from its start into a buffer of the caller's; "" where it cannot be.
std::string_view read_at_start(int fd, std::span<char> buffer) noexcept;

/// Counters of /proc/PID/io, added to `into`. False: no such text.
bool parse_io(std::string_view text, ProcessCounters& into) noexcept;
/// The values of /proc/PID/stat. False: no such text. `ticks_per_s`: sysconf(_SC_CLK_TCK).
struct Stat {
  char state = '?';
  int parent = 0;
  std::uint64_t major_faults = 0, user_ticks = 0, system_ticks = 0, started_ticks = 0;
  unsigned threads = 0;
  std::uint64_t stack = 0;  // where its stack begins: another place for each program that it becomes
};
std::optional<Stat> parse_stat(std::string_view text) noexcept;
/// The first numbers of /proc/PID/schedstat: for how long its first thread ran, and was ready and did not run.
struct Scheduled {
  std::uint64_t ran_ns = 0, queued_ns = 0;
};
std::optional<Scheduled> parse_schedstat(std::string_view text) noexcept;

/// One thread's.
struct ThreadFiles {
  int tid = 0;
  system::UniqueFd syscall;
  WaitCounts waits{};               // since the last slice
  std::uint32_t beside = 0;         // looks at which it ran while the first thread paused
  std::uint32_t on_storage = 0;     // looks
  std::uint32_t seen = UINT32_MAX;  // into Recording::threads; UINT32_MAX: it brings no data in
};

/// Addresses from begin to end.
struct AddressRange {
  std::uint64_t begin = 0, end = 0;
  bool holds(std::uint64_t address) const { return address >= begin && address < end; }
  std::uint64_t size() const { return end - begin; }
};
/// The place of Python's per-process state, with the interpreter lock, in the text of /proc/PID/maps. Empty for other
/// programs.
AddressRange python_data(std::string_view maps) noexcept;
/// The files in the same text that it maps and may not run.
std::vector<std::string> mapped_files(std::string_view maps);

/// One process's, below `proc` ("/proc"; tests set their own).
class ProcessFiles {
 public:
  ProcessFiles(const std::string& proc, int pid);

  int pid() const { return pid_; }
  bool there() const { return static_cast<bool>(folder_); }
  /// errno of opening or reading `syscall` of its first thread: EACCES, EPERM ... 0 = it can be read.
  int refused() const { return refused_; }
  /// The first thread is threads().front().
  std::vector<ThreadFiles>& threads() { return threads_; }
  /// Looks which threads there are now.
  void find_threads();

  /// False: the process is gone, or does not let itself be looked at.
  bool read_counters(ProcessCounters& into, bool& io_refused) const noexcept;
  /// Bytes and calls alone, which costs a third of it.
  bool read_io(ProcessCounters& into) const noexcept;
  std::optional<Stat> read_stat() const noexcept;
  std::optional<Scheduled> read_schedstat() const noexcept;
  /// The counters of its first thread alone, without children.
  bool read_lead_io(ProcessCounters& into) const noexcept;
  std::vector<int> children() const;
  std::string name() const;
  std::string thread_name(int tid) const;
  bool read_thread_io(int tid, ProcessCounters& into) const;
  std::string maps() const;
  std::string command() const;

  /// Where a descriptor leads; "" where it leads nowhere any more. Into `buffer`.
  std::string_view link(std::uint64_t fd, std::span<char> buffer) const noexcept;
  std::string_view working_folder(std::span<char> buffer) const noexcept;
  /// A text in the process's memory.
  std::string_view text_at(std::uint64_t address, std::span<char> buffer) const noexcept;
  /// Is any of the descriptors that a poll() with these arguments waits for a GPU's?
  bool polls_gpu(std::uint64_t address, std::uint64_t count) const noexcept;
  /// The file that it has open for writing with the largest position.
  std::string written_file() const;
  /// The files that it has open for reading, except its standard input, and how far each was read [B].
  struct OpenFile {
    std::string path;
    std::uint64_t place = 0;
  };
  std::vector<OpenFile> open_files() const;
  /// 0, or errno of reading its first thread's wait.
  int look_refused() const noexcept;

 private:
  template <class Each>
  void each_file(bool written, const Each& each) const;

  int pid_;
  system::UniqueFd folder_, io_, stat_, schedstat_, lead_io_;
  std::vector<ThreadFiles> threads_;
  int refused_ = 0;
};

}  // namespace headrace::observe
