#include "harness/observe/traced_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "harness/base/error.h"
#include "harness/observe/preload/arena.h"
#include "harness/system/installation.h"

namespace headrace::observe {
namespace {

namespace fs = std::filesystem;

using preload::Arena;
using preload::Call;
using preload::Chunk;
using preload::Op;

/// One call, and whose it is.
struct Entry {
  std::uint64_t begin_ns;
  std::int32_t pid, parent, tid;
  const Call* call;
  std::string_view path() const { return {reinterpret_cast<const char*>(call + 1), call->path_bytes}; }
};

std::vector<Entry> entries_of(const char* memory, std::uint64_t bytes) {
  const Arena* arena = reinterpret_cast<const Arena*>(memory);
  std::vector<Entry> all;
  const std::uint64_t end = std::min(arena->next.load(), bytes);
  for (std::uint64_t at = preload::kChunk; at + preload::kChunk <= end; at += preload::kChunk) {
    const Chunk* chunk = reinterpret_cast<const Chunk*>(memory + at);
    const std::uint64_t used =
        std::min<std::uint64_t>(chunk->used.load(std::memory_order_acquire), preload::kChunk - sizeof(Chunk));
    const char* const begin = memory + at + sizeof(Chunk);
    for (std::uint64_t place = 0; place + sizeof(Call) <= used;) {
      const Call* call = reinterpret_cast<const Call*>(begin + place);
      const std::uint64_t length = (sizeof(Call) + call->path_bytes + 7) / 8 * 8;
      if (place + length > used) break;  // whoever shares the memory may have written anything
      all.push_back({call->begin_ns, chunk->pid, chunk->parent, chunk->tid, call});
      place += length;
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
    const Call& call = *entry.call;
    auto own = descriptors_.find(entry.pid);
    if (own == descriptors_.end()) {  // a child has what its parent had
      const auto parent = descriptors_.find(entry.parent);
      if (parent != descriptors_.end()) builder_.started(builder_.process(entry.pid), entry.parent);
      own = descriptors_.emplace(entry.pid, parent == descriptors_.end() ? Table{} : parent->second).first;
    }
    Table& table = own->second;
    calls::Call made{
        .begin_s = static_cast<double>(call.begin_ns) * 1e-9,
        .seconds = call.duration_ns * 1e-9,
        .thread = builder_.thread(entry.tid, entry.pid),
        .bytes = call.result,
        .asked = call.size,
        .offset = call.offset,
        .processor_s = call.processor_ns == preload::kNotAsked ? -1 : static_cast<double>(call.processor_ns) * 1e-9};
    const auto by_fd = table.find(call.fd);
    if (by_fd != table.end()) made.file = by_fd->second;
    switch (call.op) {
      case Op::open:
        made.kind = calls::Kind::open;
        if (call.result < 0) break;
        made.file = builder_.file(whole(entry, table));
        made.to_read = (call.flags & O_ACCMODE) == O_RDONLY;
        table[static_cast<int>(call.result)] = made.file;
        break;
      case Op::read:
        made.kind = calls::Kind::read;
        break;
      case Op::write:
        made.kind = calls::Kind::write;
        break;
      case Op::seek:
        made.kind = calls::Kind::seek;
        made.offset = call.result;
        break;
      case Op::stat:
        made.kind = calls::Kind::stat;
        if (call.path_bytes > 0 && call.result >= 0) made.file = builder_.file(whole(entry, table));
        break;
      case Op::close:
        made.kind = calls::Kind::close;
        table.erase(call.fd);
        break;
      case Op::sync:
        made.kind = calls::Kind::sync;
        break;
      case Op::map:
        made.kind = calls::Kind::map;
        break;
      case Op::duplicate:
        if (by_fd != table.end() && call.result >= 0) table[call.flags] = std::uint32_t{by_fd->second};
        return;
      case Op::rename: {
        made.kind = calls::Kind::change;
        const std::string_view both = entry.path();
        const std::size_t end = both.find('\0');
        if (call.result < 0 || end == both.npos) break;
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

  /// As it was given, behind the folder that it lies in where that is known.
  std::string whole(const Entry& entry, const Table& table) const {
    const std::string path(entry.path());
    if (path.starts_with("/") || entry.call->fd == AT_FDCWD) return fs::absolute(path).lexically_normal().string();
    const auto folder = table.find(entry.call->fd);
    return folder == table.end() ? path : builder_.log().files[folder->second] + "/" + path;
  }

  calls::LogBuilder& builder_;
  std::map<int, Table> descriptors_;
};

}  // namespace

TraceMemory::TraceMemory(std::uint64_t bytes) : bytes_(bytes) {
  const std::string& folder = system::installation().plugins;
  shim_ = folder + "/headrace_trace.so";
  if (folder.empty() || !fs::exists(shim_))
    throw RunError("--trace: this copy of headrace has no plugins/headrace_trace.so beside it");
  if (shim_.find_first_of(": ") != shim_.npos)
    throw RunError("--trace: the path of headrace holds a blank or a colon, which LD_PRELOAD cannot: " + shim_);
  fd_ = system::UniqueFd(::memfd_create("headrace-trace", MFD_CLOEXEC));
  if (!fd_ || ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0)
    throw system_error("memfd_create", "memory for a trace", errno);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  if (mapped == MAP_FAILED) throw system_error("mmap", "memory for a trace", errno);
  memory_ = static_cast<char*>(mapped);
  Arena* const arena =
      new (memory_) Arena{.magic = preload::kMagic, .bytes = bytes, .next = preload::kChunk, .dropped = 0};
  static_cast<void>(arena);
}

TraceMemory::~TraceMemory() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

std::vector<std::pair<std::string, std::string>> TraceMemory::environment() const {
  const char* const others = std::getenv("LD_PRELOAD");
  return {{"LD_PRELOAD", others != nullptr && *others != '\0' ? shim_ + ":" + others : shim_},
          {preload::kVariable, fmt::format("/proc/{}/fd/{}", ::getpid(), fd_.get())}};
}

calls::Log TraceMemory::read() const {
  calls::LogBuilder builder("headrace");
  const std::vector<Entry> entries = entries_of(memory_, bytes_);
  Follower follower(builder);
  for (const Entry& entry : entries) follower.take(entry);
  builder.log().dropped += reinterpret_cast<const Arena*>(memory_)->dropped.load();
  builder.log().durations_known = true;
  return builder.take();
}

}  // namespace headrace::observe
