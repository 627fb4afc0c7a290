#include "harness/observe/sampling/traced_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "harness/base/error.h"
#include "harness/base/system/installation.h"
#include "harness/observe/preload/arena.h"

namespace headrace::observe {
namespace {

namespace fs = std::filesystem;

using preload::Arena;
using preload::Call;
using preload::Chunk;
using preload::Op;

/// One call, and whose it is.
struct Entry {
  std::int32_t pid, parent, tid;
  Op op;
  std::uint64_t begin_ns;
  double seconds;
  std::int32_t fd, flags = 0;
  std::int64_t result;
  std::uint64_t size = 0;
  std::int64_t offset = -1;  // -1: where the descriptor is
  double processor_s = -1;   // below 0: not asked
  std::string_view path{};
};

/// A text that others may have written anything into.
class Taker {
 public:
  Taker(const char* at, const char* end) : at_(at), end_(end) {}
  template <class Value>
  Value take() {
    Value value{};
    if (static_cast<std::size_t>(end_ - at_) < sizeof value) {
      short_ = true;
      return value;
    }
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view text(std::size_t bytes) {
    const std::size_t padded = (bytes + 7) / 8 * 8;
    if (static_cast<std::size_t>(end_ - at_) < padded) {
      short_ = true;
      return {};
    }
    const std::string_view found(at_, bytes);
    at_ += padded;
    return found;
  }
  bool more() const { return static_cast<std::size_t>(end_ - at_) >= sizeof(Call); }
  bool cut_short() const { return short_; }

 private:
  const char *at_, *end_;
  bool short_ = false;
};

Entry entry_of(const Chunk& chunk, Taker& text, std::uint64_t before_ns) {
  const Call call = text.take<Call>();
  const auto has = [&call](preload::Part part) { return (call.parts & part) != 0; };
  Entry entry{.pid = chunk.pid,
              .parent = chunk.parent,
              .tid = chunk.tid,
              .op = call.op,
              .begin_ns = before_ns + call.since_ns,
              .seconds = call.duration_ns * 1e-9,
              .fd = call.fd == preload::kWorkingFolder ? AT_FDCWD : call.fd,
              .result = call.result};
  if (has(preload::kLater)) entry.begin_ns = before_ns + text.take<std::uint64_t>();
  if (has(preload::kWide)) {
    const auto wide = text.take<preload::WidePart>();
    entry.result = wide.result;
    entry.fd = static_cast<std::int32_t>(wide.fd);
  }
  std::size_t path = 0;
  if (has(preload::kPath)) {
    const auto part = text.take<preload::PathPart>();
    entry.flags = part.flags;
    path = part.bytes;
  }
  if (has(preload::kSize)) entry.size = text.take<std::uint64_t>();
  if (has(preload::kOffset)) entry.offset = text.take<std::int64_t>();
  if (has(preload::kProcessor)) entry.processor_s = static_cast<double>(text.take<std::uint64_t>()) * 1e-9;
  entry.path = text.text(path);
  return entry;
}

std::vector<Entry> entries_of(const char* memory, std::uint64_t bytes) {
  const Arena* arena = reinterpret_cast<const Arena*>(memory);
  std::vector<Entry> all;
  const std::uint64_t end = std::min(arena->next.load(), bytes);
  for (std::uint64_t at = preload::kChunk; at + preload::kChunk <= end; at += preload::kChunk) {
    const Chunk* chunk = reinterpret_cast<const Chunk*>(memory + at);
    const std::uint64_t used =
        std::min<std::uint64_t>(chunk->used.load(std::memory_order_acquire), preload::kChunk - sizeof(Chunk));
    const char* const begin = memory + at + sizeof(Chunk);
    Taker text(begin, begin + used);
    std::uint64_t before_ns = chunk->begin_ns;
    while (text.more()) {
      const Entry entry = entry_of(*chunk, text, before_ns);
      if (text.cut_short()) break;
      before_ns = entry.begin_ns;
      all.push_back(entry);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.begin_ns < b.begin_ns; });
  return all;
}

/// Follows descriptors to paths, process by process.
class Follower {
 public:
  explicit Follower(calls::LogBuilder& builder) : builder_(builder) {}

  void take(const Entry& entry) {
    auto own = descriptors_.find(entry.pid);
    if (own == descriptors_.end()) {  // a child has its parent's descriptors
      const auto parent = descriptors_.find(entry.parent);
      if (parent != descriptors_.end()) builder_.started(builder_.process(entry.pid), entry.parent);
      if (parent != descriptors_.end()) inherited_ += parent->second.size();
      const bool knows = parent != descriptors_.end() && inherited_ <= calls::kMostInherited;
      own = descriptors_.emplace(entry.pid, knows ? parent->second : Table{}).first;
    }
    Table& table = own->second;
    calls::Call made{.begin_s = static_cast<double>(entry.begin_ns) * 1e-9,
                     .seconds = entry.seconds,
                     .thread = builder_.thread(entry.tid, entry.pid),
                     .bytes = entry.result,
                     .asked = entry.size,
                     .offset = entry.offset,
                     .processor_s = entry.processor_s};
    const auto by_fd = table.find(entry.fd);
    if (by_fd != table.end()) made.file = by_fd->second;
    switch (entry.op) {
      case Op::open:
        made.kind = calls::Kind::open;
        if (entry.result < 0) break;
        made.file = builder_.file(whole(entry, table));
        made.to_read = (entry.flags & O_ACCMODE) == O_RDONLY;
        table[static_cast<int>(entry.result)] = made.file;
        break;
      case Op::read:
        made.kind = calls::Kind::read;
        break;
      case Op::write:
        made.kind = calls::Kind::write;
        break;
      case Op::seek:
        made.kind = calls::Kind::seek;
        made.offset = entry.result;
        break;
      case Op::stat:
        made.kind = calls::Kind::stat;
        if (!entry.path.empty() && entry.result >= 0) made.file = builder_.file(whole(entry, table));
        break;
      case Op::close:
        made.kind = calls::Kind::close;
        table.erase(entry.fd);
        break;
      case Op::sync:
        made.kind = calls::Kind::sync;
        break;
      case Op::map:
        made.kind = calls::Kind::map;
        break;
      case Op::duplicate:
        if (by_fd != table.end() && entry.result >= 0) table[entry.flags] = std::uint32_t{by_fd->second};
        return;
      case Op::rename: {
        made.kind = calls::Kind::change;
        const std::string_view both = entry.path;
        const std::size_t end = both.find('\0');
        if (entry.result < 0 || end == both.npos) break;
        made.file = builder_.file(std::string(both.substr(0, end)));
        made.renamed_to = builder_.file(std::string(both.substr(end + 1)));
        break;
      }
      case Op::remove:
        made.kind = calls::Kind::change;
        break;
    }
    builder_.add(made);
  }

 private:
  using Table = std::map<int, std::uint32_t>;

  /// As it was given, behind its folder where that is known.
  std::string whole(const Entry& entry, const Table& table) const {
    const std::string path(entry.path);
    if (path.starts_with("/") || entry.fd == AT_FDCWD) return fs::absolute(path).lexically_normal().string();
    const auto folder = table.find(entry.fd);
    return folder == table.end() ? path : builder_.log().files[folder->second] + "/" + path;
  }

  calls::LogBuilder& builder_;
  std::map<int, Table> descriptors_;
  std::size_t inherited_ = 0;
};

}  // namespace

TraceMemory::TraceMemory(std::uint64_t bytes) : bytes_(bytes) {
  const std::string& folder = system::installation().plugins;
  shim_ = folder + "/headrace_trace.so";
  if (folder.empty() || !fs::exists(shim_))
    throw RunError("--trace: plugins/headrace_trace.so of this installation is missing; copy the whole install folder");
  if (shim_.find_first_of(": ") != shim_.npos)
    throw RunError("--trace: the path of headrace holds a blank or a colon, which LD_PRELOAD cannot: " + shim_);
  fd_ = system::UniqueFd(::memfd_create("headrace-trace", MFD_CLOEXEC));
  if (!fd_ || ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0)
    throw system_error("memfd_create", "memory for a trace", errno);
  alignas(Arena) char header[sizeof(Arena)];
  new (header) Arena{.magic = preload::kMagic, .bytes = bytes, .next = preload::kChunk, .dropped = 0};
  if (::pwrite(fd_.get(), header, sizeof header, 0) != sizeof header)
    throw system_error("write", "memory for a trace", errno);
}

std::vector<std::pair<std::string, std::string>> TraceMemory::environment() const {
  const char* const others = std::getenv("LD_PRELOAD");
  return {{"LD_PRELOAD", others != nullptr && *others != '\0' ? shim_ + ":" + others : shim_},
          {preload::kVariable, fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get())}};
}

calls::Log TraceMemory::read() const {
  const std::vector<char> memory = copy();
  calls::LogBuilder builder("headrace");
  const std::vector<Entry> entries = entries_of(memory.data(), memory.size());
  Follower follower(builder);
  for (const Entry& entry : entries) follower.take(entry);
  builder.log().dropped += reinterpret_cast<const Arena*>(memory.data())->dropped.load();
  builder.log().durations_known = true;
  return builder.take();
}

std::vector<char> TraceMemory::copy() const {
  alignas(Arena) char header[sizeof(Arena)] = {};
  if (::pread(fd_.get(), header, sizeof header, 0) < 0) throw system_error("read", "memory for a trace", errno);
  const std::uint64_t used = std::min(reinterpret_cast<const Arena*>(header)->next.load(), bytes_);
  std::vector<char> memory(std::max<std::uint64_t>(used, preload::kChunk));
  for (std::size_t got = 0; got < memory.size();) {
    const ssize_t some = ::pread(fd_.get(), memory.data() + got, memory.size() - got, static_cast<off_t>(got));
    if (some < 0 && errno != EINTR) throw system_error("read", "memory for a trace", errno);
    if (some == 0) break;  // the command cut it short: the rest has no calls
    if (some > 0) got += static_cast<std::size_t>(some);
  }
  return memory;
}

}  // namespace headrace::observe
