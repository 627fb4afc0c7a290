// Calls of processes on files, one by one, from any recorder: headrace's own trace, strace, DFTracer, Darshan.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace headrace::observe::calls {

enum class Kind : std::uint8_t {
  open,
  read,
  write,
  seek,
  stat,  // asking for attributes, listing
  close,
  sync,
  map,
  change,     // renaming, removing, making
  take,       // read() of a pipe or socket
  give,       // write() to one
  hand_over,  // waiting for a lock, a pipe, another process
  sleep,
  gpu,
  other
};

inline constexpr std::uint32_t kNoFile = UINT32_MAX;
/// Descriptors that all children together inherit from their parents: short logs can claim more than fits into memory.
inline constexpr std::size_t kMostInherited = 5'000'000;

struct Call {
  double begin_s = 0;    // since the log's first call
  double seconds = 0;    // that it took; 0 where that was not written down
  std::uint32_t thread;  // into threads
  std::uint32_t file = kNoFile;
  std::int64_t bytes = 0;    // moved; below 0: it failed
  std::uint64_t asked = 0;   // bytes asked for
  std::int64_t offset = -1;  // -1: where the descriptor is; of seek: where it then is
  Kind kind = Kind::other;
  std::uint32_t renamed_to = kNoFile;
  /// Processor time that its thread had since it was asked for last, in this call, too. Below 0: it was not asked for.
  double processor_s = -1;
  bool to_read = false;  // of open: for reading alone
};

struct Process {
  int pid = 0;
  int parent = -1;  // into processes; -1: not known
  std::string name{}, command{};
};
struct Thread {
  int tid = 0;
  std::uint32_t process = 0;
  bool first = true;  // its process's first
};

struct Log {
  std::string source;  // "strace", "DFTracer" ...
  std::vector<std::string> files;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Call> calls;         // by begin
  double began_s = 0;              // when the first call began, in the log's own time
  bool waits_known = false;        // waiting for others and sleeping was recorded: the time between calls is computing
  bool durations_known = false;    // calls' durations were
  std::uint64_t dropped = 0;       // calls that there was no room for
  std::vector<std::string> notes;  // its errors and gaps: a sentence each

  double end_s() const;
};

/// Fills a log; names are kept once.
class LogBuilder {
 public:
  explicit LogBuilder(std::string source) { log_.source = std::move(source); }
  std::uint32_t file(const std::string& path);
  /// The process with this number, made if there is none yet.
  std::uint32_t process(int pid);
  /// The thread with this number; of `pid`, or a process of its own where that is 0.
  std::uint32_t thread(int tid, int pid = 0);
  void started(std::uint32_t process, int parent_pid);
  /// The thread is one of `pid`'s, though it was taken for a process of its own until now.
  void belongs(int tid, int pid);
  bool knows(int tid) const { return threads_.count(tid) > 0; }
  /// Gives the process and thread that were known as `from` their real number.
  void renumber(int from, int to);
  /// In the log's own time, which begins anywhere; the 20 million first are kept. One whose numbers cannot be, of a damaged
  /// line, is left out, which a note reports.
  void add(const Call& call);
  Log& log() { return log_; }
  /// Sorts calls, drops processes that were none, and begins time with the first.
  Log take();

 private:
  Log log_;
  std::uint64_t impossible_ = 0;
  std::unordered_map<std::string, std::uint32_t> files_;
  std::unordered_map<int, std::uint32_t> processes_, threads_;
};

}  // namespace headrace::observe::calls
