#include "harness/observe/calls/strace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "harness/base/diagnostics.h"
#include "harness/observe/calls/call_log.h"
#include "harness/observe/calls/lines.h"
#include "harness/observe/calls/strace_line.h"
#include "harness/observe/learning/wait.h"

namespace headrace::observe::calls {
namespace {

// The distinguished calls of the kernel, and the meaning of their arguments.

/// Indices of arguments; -1: there is none.
struct Shape {
  std::string_view name;
  Kind kind;
  int fd = -1, folder = -1, path = -1, size = -1, offset = -1;
};

constexpr std::array kShapes{
    Shape{.name = "open", .kind = Kind::open, .path = 0},
    Shape{.name = "creat", .kind = Kind::open, .path = 0},
    Shape{.name = "openat", .kind = Kind::open, .folder = 0, .path = 1},
    Shape{.name = "openat2", .kind = Kind::open, .folder = 0, .path = 1},
    Shape{.name = "read", .kind = Kind::read, .fd = 0, .size = 2},
    Shape{.name = "pread64", .kind = Kind::read, .fd = 0, .size = 2, .offset = 3},
    Shape{.name = "readv", .kind = Kind::read, .fd = 0},
    Shape{.name = "preadv", .kind = Kind::read, .fd = 0, .offset = 3},
    Shape{.name = "preadv2", .kind = Kind::read, .fd = 0, .offset = 3},
    Shape{.name = "recvfrom", .kind = Kind::read, .fd = 0, .size = 2},
    Shape{.name = "recvmsg", .kind = Kind::read, .fd = 0},
    Shape{.name = "write", .kind = Kind::write, .fd = 0, .size = 2},
    Shape{.name = "pwrite64", .kind = Kind::write, .fd = 0, .size = 2, .offset = 3},
    Shape{.name = "writev", .kind = Kind::write, .fd = 0},
    Shape{.name = "pwritev", .kind = Kind::write, .fd = 0, .offset = 3},
    Shape{.name = "pwritev2", .kind = Kind::write, .fd = 0, .offset = 3},
    Shape{.name = "sendto", .kind = Kind::write, .fd = 0, .size = 2},
    Shape{.name = "sendmsg", .kind = Kind::write, .fd = 0},
    Shape{.name = "close", .kind = Kind::close, .fd = 0},
    Shape{.name = "lseek", .kind = Kind::seek, .fd = 0},
    Shape{.name = "fstat", .kind = Kind::stat, .fd = 0},
    Shape{.name = "fstatfs", .kind = Kind::stat, .fd = 0},
    Shape{.name = "getdents64", .kind = Kind::stat, .fd = 0},
    Shape{.name = "stat", .kind = Kind::stat, .path = 0},
    Shape{.name = "lstat", .kind = Kind::stat, .path = 0},
    Shape{.name = "access", .kind = Kind::stat, .path = 0},
    Shape{.name = "readlink", .kind = Kind::stat, .path = 0},
    Shape{.name = "newfstatat", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "statx", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "faccessat", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "faccessat2", .kind = Kind::stat, .folder = 0, .path = 1},
    Shape{.name = "fsync", .kind = Kind::sync, .fd = 0},
    Shape{.name = "fdatasync", .kind = Kind::sync, .fd = 0},
    Shape{.name = "sync_file_range", .kind = Kind::sync, .fd = 0},
    Shape{.name = "mmap", .kind = Kind::map, .fd = 4, .size = 1, .offset = 5},
    Shape{.name = "rename", .kind = Kind::change, .path = 0},
    Shape{.name = "renameat", .kind = Kind::change, .folder = 0, .path = 1},
    Shape{.name = "renameat2", .kind = Kind::change, .folder = 0, .path = 1},
    Shape{.name = "unlink", .kind = Kind::change, .path = 0},
    Shape{.name = "unlinkat", .kind = Kind::change, .folder = 0, .path = 1},
    Shape{.name = "mkdir", .kind = Kind::change, .path = 0},
    Shape{.name = "futex", .kind = Kind::hand_over},
    Shape{.name = "poll", .kind = Kind::hand_over},
    Shape{.name = "ppoll", .kind = Kind::hand_over},
    Shape{.name = "select", .kind = Kind::hand_over},
    Shape{.name = "pselect6", .kind = Kind::hand_over},
    Shape{.name = "epoll_wait", .kind = Kind::hand_over},
    Shape{.name = "epoll_pwait", .kind = Kind::hand_over},
    Shape{.name = "epoll_pwait2", .kind = Kind::hand_over},
    Shape{.name = "wait4", .kind = Kind::hand_over},
    Shape{.name = "waitid", .kind = Kind::hand_over},
    Shape{.name = "accept", .kind = Kind::hand_over},
    Shape{.name = "accept4", .kind = Kind::hand_over},
    Shape{.name = "nanosleep", .kind = Kind::sleep},
    Shape{.name = "clock_nanosleep", .kind = Kind::sleep},
    Shape{.name = "ioctl", .kind = Kind::gpu, .fd = 0},
};

/// nullptr: it is none of those.
const Shape* shape_of(std::string_view name) {
  const auto found = std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& one) { return one.name == name; });
  return found == kShapes.end() ? nullptr : &*found;
}

namespace fs = std::filesystem;

/// The number that a result or an argument begins with.
std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// Both of "[3</x>, 4]".
std::vector<StraceFd> pair_of(std::string_view text) {
  std::vector<StraceFd> both;
  if (!text.starts_with("[") || !text.ends_with("]")) return both;
  text = text.substr(1, text.size() - 2);
  const std::size_t comma = text.find(", ");
  if (comma == text.npos) return both;
  for (const std::string_view one : {text.substr(0, comma), text.substr(comma + 2)})
    if (auto fd = parse_strace_fd(one)) both.push_back(std::move(*fd));
  return both;
}

/// "[{fd=19</dev/nvidia0>, events=POLLIN}, ...]"
bool polls_gpu(std::string_view list) {
  for (std::size_t at = list.find('<'); at != list.npos; at = list.find('<', at + 1))
    if (fd_kind(list.substr(at + 1, list.find('>', at) - at - 1)) == FdKind::gpu) return true;
  return false;
}

/// The thread of a file that `strace -ff -o PREFIX` names PREFIX.TID; 0: its name has none.
int thread_of_name(std::string_view path) {
  constexpr int kMostPids = 1 << 22;  // Linux's PID_MAX_LIMIT
  if (path.ends_with(".gz")) path.remove_suffix(3);
  const std::size_t dot = path.rfind('.');
  int tid = 0;
  const char* const end = path.data() + path.size();
  if (dot == path.npos) return 0;
  const auto [last, error] = std::from_chars(path.data() + dot + 1, end, tid);
  return error == std::errc() && last == end && tid > 0 && tid <= kMostPids ? tid : 0;
}

/// Does any line begin with its thread?
bool numbers_threads(const std::string& path) {
  Lines lines(path);
  std::string_view line;
  while (lines.next(line))
    if (const auto head = parse_strace_head(line); head && head->tid != 0) return true;
  return false;
}

class LineReader {
 public:
  explicit LineReader(std::string folder) : folder_(std::move(folder)) {}

  /// `tid`: of the lines without one; 0 = the first process
  void read(const std::string& path, int tid) {
    file_tid_ = tid;
    before_s_ = 0;
    Lines lines(path);
    std::string_view line;
    std::string torn;
    while (lines.next(line)) {
      // strace's own messages may be in the middle of a line, which continues in the next.
      if (const std::size_t at = line.find("strace: Process "); at != line.npos && line.find('"') > at) {
        int tid = 0;
        const std::string_view number = line.substr(at + 16);
        std::from_chars(number.data(), number.data() + number.size(), tid);
        if (tid != 0) attached_.insert(tid);
        torn += line.substr(0, at);
        continue;
      }
      if (!torn.empty()) {
        torn += line;
        take(torn, lines);
        torn.clear();
      } else {
        take(line, lines);
      }
    }
  }

  Log finish() {
    Log& log = builder_.log();
    if (log.calls.empty())
      throw UsageError("--from: no call of strace's was found in it" +
                       (bad_.count() > 0 ? "; " + bad_.text() : std::string()) +
                       " (as 'strace -f -ttt -T -y -o FILE' writes them)");
    if (falls_ >= kFewFalls && falls_ * kRelative > heads_ && latest_s_ < kDay_s)
      throw UsageError(
          "--from: its times fall again and again, as relative ones of strace -r do: trace with strace -f -ttt -T -y");
    log.waits_known = waits_ > 0;
    log.durations_known = timed_ * 2 > calls_;
    if (bad_.count() > 0) log.notes.push_back(bad_.text());
    if (!unfinished_.empty())
      log.notes.push_back(fmt::format("{} calls had not returned when the trace ended", unfinished_.size()));
    if (!log.durations_known)
      log.notes.push_back("the trace has no durations of calls (strace -T adds them), so waiting times are unknown");
    if (!log.waits_known)
      log.notes.push_back(
          "calls that wait for others (futex, poll, nanosleep) were not written down (strace -e trace=...): what "
          "threads did between their calls is not known");
    if (unknown_fds_ > 0)
      log.notes.push_back(fmt::format(
          "{} reads and writes were of descriptors that were open before the trace began, or came another way "
          "(strace -y names them)",
          unknown_fds_));
    return builder_.take();
  }

 private:
  static constexpr std::uint64_t kFewFalls = 3, kRelative = 5;  // of relative times far more than a fifth fall
  static constexpr double kDay_s = 86'400;                      // times of -ttt are since 1970

  struct Unfinished {
    double begin_s;
    std::string text;
  };
  struct Table {
    std::map<std::int64_t, std::string> targets;
    std::string folder;
  };

  void take(std::string_view line, const Lines& where) {
    if (line.empty()) return;
    std::optional<StraceHead> head = parse_strace_head(line);
    if (!head) {
      if (!line.starts_with("strace: ")) bad_.add(where, "no time with parts of a second (strace -ttt) begins it");
      return;
    }
    ++heads_;
    if (head->time_s < before_s_) ++falls_;
    before_s_ = head->time_s;
    latest_s_ = std::max(latest_s_, head->time_s);
    // Without -o the first process has no number until there is a second.
    if (head->tid == 0) head->tid = file_tid_ != 0 ? file_tid_ : first_tid_;
    if (first_tid_ == 0 && head->tid != 0 && attached_.count(head->tid) == 0 &&
        (builder_.knows(0) || unfinished_.count(0) > 0)) {
      builder_.renumber(0, head->tid);
      if (auto node = tables_.extract(0)) {
        node.key() = head->tid;
        tables_.insert(std::move(node));
      }
      if (auto node = unfinished_.extract(0)) {
        node.key() = head->tid;
        unfinished_.insert(std::move(node));
      }
      first_tid_ = head->tid;
    }
    const std::string_view rest = head->rest;
    if (rest.starts_with("+++") || rest.starts_with("---")) return;
    if (constexpr std::string_view kOpen = " <unfinished ...>"; rest.ends_with(kOpen)) {
      unfinished_[head->tid] = {head->time_s, std::string(rest.substr(0, rest.size() - kOpen.size()))};
      return;
    }
    if (rest.starts_with("<... ")) {
      constexpr std::string_view kMark = " resumed>";
      const std::size_t at = rest.find(kMark);
      const auto begun = unfinished_.find(head->tid);
      if (at == rest.npos || begun == unfinished_.end()) return bad_.add(where, "goes on with a call that never began");
      const std::string whole = begun->second.text + std::string(rest.substr(at + kMark.size()));
      const double begin = begun->second.begin_s;
      unfinished_.erase(begun);
      return called(head->tid, begin, whole, head->time_s - begin, where);
    }
    called(head->tid, head->time_s, rest, std::nullopt, where);
  }

  void called(int tid, double begin_s, std::string_view text, std::optional<double> lasted, const Lines& where) {
    if (text.starts_with("exit_group(") || text.starts_with("exit(")) return;
    const std::optional<StraceCall> call = parse_strace_call(text);
    if (!call) return bad_.add(where, "is no call");
    const std::optional<std::int64_t> result = number_of(call->result);
    ++calls_;
    const std::uint32_t thread = builder_.thread(tid);
    const std::uint32_t process = builder_.log().threads[thread].process;
    if (call->seconds || lasted) ++timed_;
    if (made_process(*call, result, process)) return;
    Table& table = tables_[builder_.log().processes[process].pid];
    if (moved_descriptor(*call, result, table)) return;
    const Shape* const shape = shape_of(call->name);
    Call made{.begin_s = begin_s, .seconds = call->seconds.value_or(lasted.value_or(0)), .thread = thread};
    if (!shape) {
      builder_.add(made);
      return;
    }
    made.kind = shape->kind;
    made.bytes = result.value_or(-1);
    if (shape->kind == Kind::hand_over || shape->kind == Kind::sleep) ++waits_;
    // A poll of a GPU driver's events; with strace -y alone it can be distinguished from others.
    if (call->name.ends_with("poll") && !call->arguments.empty() && polls_gpu(call->arguments[0]))
      made.kind = Kind::gpu;
    const auto argument = [&](int index) {
      return index >= 0 && static_cast<std::size_t>(index) < call->arguments.size()
                 ? call->arguments[static_cast<std::size_t>(index)]
                 : std::string_view();
    };
    if (shape->size >= 0)
      made.asked = static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(argument(shape->size)).value_or(0)));
    else if (made.bytes > 0)
      made.asked = static_cast<std::uint64_t>(made.bytes);
    if (shape->offset >= 0) made.offset = number_of(argument(shape->offset)).value_or(-1);
    if (shape->kind == Kind::seek) made.offset = made.bytes;
    if (shape->path >= 0) {
      const std::optional<std::string> whole = path_of(argument(shape->folder), argument(shape->path), table);
      if (!whole) return bad_.add(where, kTooLong);
      const std::string& path = *whole;
      if (shape->kind == Kind::open) {
        if (made.bytes < 0) return builder_.add(made);
        const std::string_view flags = argument(shape->path + 1);
        made.to_read = flags.find("O_RDONLY") != flags.npos;
        // A folder that is opened is listed, not read.
        if (flags.find("O_DIRECTORY") != flags.npos) made.kind = Kind::stat;
        StraceFd opened = parse_strace_fd(call->result).value_or(StraceFd{});
        if (opened.target.size() >= PATH_MAX) return bad_.add(where, kTooLong);
        table.targets[made.bytes] = opened.target.empty() ? path : opened.target;
        made.file = builder_.file(table.targets[made.bytes]);
      } else if (!path.empty() && made.bytes >= 0) {
        made.file = builder_.file(path);
      }
    } else if (shape->fd >= 0) {
      if (const auto fd = parse_strace_fd(argument(shape->fd)); fd && fd->target.size() >= PATH_MAX)
        return bad_.add(where, kTooLong);
      of_descriptor(made, argument(shape->fd), table);
    }
    builder_.add(made);
    if (made.kind == Kind::close) table.targets.erase(number_of(argument(0)).value_or(-1));
  }

  /// Its use of the descriptor: reads, writes or other requests.
  void of_descriptor(Call& made, std::string_view text, Table& table) {
    const std::optional<StraceFd> fd = parse_strace_fd(text);
    if (!fd) {
      made.kind = made.kind == Kind::map ? Kind::other : made.kind;
      return;
    }
    std::string target = fd->target;
    if (target.empty())
      if (const auto known = table.targets.find(fd->number); known != table.targets.end()) target = known->second;
    const FdKind kind = fd_kind(target);
    if (made.kind == Kind::gpu) {
      if (kind != FdKind::gpu) made.kind = Kind::other;
      return;
    }
    if (made.kind == Kind::map && fd->number < 0) {
      made.kind = Kind::other;
      return;
    }
    if (kind == FdKind::file) {
      made.file = builder_.file(target);
    } else if (made.kind == Kind::read || made.kind == Kind::write) {
      if (kind == FdKind::unknown && fd->number > 2) ++unknown_fds_;
      made.kind = kind == FdKind::hand_over || kind == FdKind::unknown
                      ? made.kind == Kind::read ? Kind::take : Kind::give
                      : Kind::other;
    }
  }

  /// "": it has none. Nothing where it is longer than Linux takes.
  std::optional<std::string> path_of(std::string_view folder, std::string_view text, const Table& table) const {
    const std::optional<std::string> path = parse_strace_string(text);
    if (!path) return "";
    if (path->size() >= PATH_MAX) return std::nullopt;
    if (path->starts_with("/")) return fs::path(*path).lexically_normal().string();
    std::string base = table.folder.empty() ? folder_ : table.folder;
    if (const auto fd = parse_strace_fd(folder)) {
      if (!fd->target.empty())
        base = fd->target;
      else if (const auto known = table.targets.find(fd->number); known != table.targets.end())
        base = known->second;
    }
    if (base.size() >= PATH_MAX) return std::nullopt;
    if (path->empty()) return base;  // AT_EMPTY_PATH: the descriptor's own
    return (fs::path(base) / *path).lexically_normal().string();
  }

  /// fork and its like, execve, chdir.
  bool made_process(const StraceCall& call, std::optional<std::int64_t> result, std::uint32_t process) {
    if (call.name == "clone" || call.name == "clone3" || call.name == "fork" || call.name == "vfork") {
      if (!result || *result <= 0) return true;
      const int child = static_cast<int>(*result), parent = builder_.log().processes[process].pid;
      bool thread = false;
      for (const std::string_view one : call.arguments) thread = thread || one.find("CLONE_THREAD") != one.npos;
      if (thread) {
        builder_.belongs(child, parent);
        return true;
      }
      const std::uint32_t fresh = builder_.log().threads[builder_.thread(child)].process;
      builder_.started(fresh, parent);
      Process& made = builder_.log().processes[fresh];
      if (made.name.empty()) {
        made.name = builder_.log().processes[process].name;
        made.command = builder_.log().processes[process].command;
      }
      // It may have run already; files that it opened since then are its own.
      Table copy = inherited(tables_[parent]);
      for (auto& [fd, target] : tables_[child].targets) copy.targets[fd] = target;
      tables_[child] = std::move(copy);
      return true;
    }
    if (call.name == "execve" && result == 0 && !call.arguments.empty()) {
      Process& made = builder_.log().processes[process];
      made.name = fs::path(parse_strace_string(call.arguments[0]).value_or("")).filename().string();
      made.command = call.arguments.size() > 1 ? std::string(call.arguments[1]).substr(0, 400) : "";
      return true;
    }
    if (call.name == "chdir" && result == 0 && !call.arguments.empty()) {
      Table& table = tables_[builder_.log().processes[process].pid];
      table.folder = path_of("", call.arguments[0], table).value_or(table.folder);
      return true;
    }
    return false;
  }

  Table inherited(const Table& parent) {
    inherited_ += parent.targets.size();
    return inherited_ <= kMostInherited ? parent : Table{{}, parent.folder};
  }

  /// dup and its like, pipes and sockets.
  bool moved_descriptor(const StraceCall& call, std::optional<std::int64_t> result, Table& table) {
    if (!result || *result < 0 || call.arguments.empty()) return false;
    if (call.name == "dup" || call.name == "dup2" || call.name == "dup3" ||
        (call.name == "fcntl" && call.arguments.size() > 1 && call.arguments[1].starts_with("F_DUPFD"))) {
      if (const auto known = table.targets.find(number_of(call.arguments[0]).value_or(-1));
          known != table.targets.end())
        table.targets[*result] = std::string(known->second);
      else
        table.targets.erase(*result);
      return true;
    }
    if (call.name == "pipe" || call.name == "pipe2" || call.name == "socketpair") {
      for (const StraceFd& fd : pair_of(call.arguments[call.name == "socketpair" ? call.arguments.size() - 1 : 0]))
        table.targets[fd.number] = fd.target.empty() ? "pipe:[?]" : fd.target;
      return true;
    }
    if (call.name == "socket" || call.name == "eventfd2" || call.name == "epoll_create1" ||
        call.name == "timerfd_create" || call.name == "memfd_create") {
      table.targets[*result] = call.name == "memfd_create" ? "/memfd:"
                               : call.name == "socket"     ? "socket:[?]"
                                                           : "anon_inode:";
      return true;
    }
    return false;
  }

  LogBuilder builder_{"strace"};
  const std::string folder_;
  BadLines bad_;
  std::map<int, Unfinished> unfinished_;  // by thread
  std::map<int, Table> tables_;           // by process
  std::set<int> attached_;
  int first_tid_ = 0, file_tid_ = 0;
  double before_s_ = 0, latest_s_ = 0;  // the last line's time in this file; the latest of all
  std::uint64_t heads_ = 0, falls_ = 0;
  std::size_t inherited_ = 0;
  std::uint64_t calls_ = 0, timed_ = 0, waits_ = 0, unknown_fds_ = 0;
};

}  // namespace

Log read_strace(const std::vector<std::string>& files, const std::string& folder) {
  std::vector<std::pair<int, std::string>> parts;  // by their threads: one that starts another comes first
  std::vector<std::string> nameless;
  for (const std::string& file : files) {
    const int named = thread_of_name(file);
    const bool numbered = (files.size() == 1 && named == 0) || numbers_threads(file);
    if (!numbered && named == 0) nameless.push_back(file);
    parts.emplace_back(numbered ? 0 : named, file);
  }
  if (nameless.size() > 1)
    throw UsageError(
        fmt::format("--from: {} and {} do not say whose calls they hold: trace with strace -f -ttt -T -y -o FILE, or "
                    "leave files of strace -ff the names PREFIX.PID",
                    nameless[0], nameless[1]));
  std::ranges::stable_sort(parts, {}, &std::pair<int, std::string>::first);
  LineReader reader(folder);
  for (const auto& [tid, file] : parts) reader.read(file, tid);
  return reader.finish();
}

}  // namespace headrace::observe::calls
