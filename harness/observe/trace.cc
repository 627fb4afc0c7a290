#include "harness/observe/trace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <set>

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
  std::int32_t pid, parent;
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
      all.push_back({call->begin_ns, chunk->pid, chunk->parent, call});
      place += length;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.begin_ns < b.begin_ns; });
  return all;
}

/// Follows descriptors to paths, process by process.
class Follower {
 public:
  explicit Follower(Trace& trace) : trace_(trace) {}

  void take(const Entry& entry) {
    const Call& call = *entry.call;
    auto own = descriptors_.find(entry.pid);
    if (own == descriptors_.end()) {  // a child has what its parent had
      const auto parent = descriptors_.find(entry.parent);
      own = descriptors_.emplace(entry.pid, parent == descriptors_.end() ? Table{} : parent->second).first;
    }
    Table& table = own->second;
    const double seconds = call.duration_ns * 1e-9;
    const auto by_fd = table.find(call.fd);
    TracedFile* const file = by_fd == table.end() ? nullptr : &trace_.files[by_fd->second];
    switch (call.op) {
      case Op::open: {
        if (call.result < 0) break;
        const std::string path = whole(entry, table);
        table[static_cast<int>(call.result)] = path;
        TracedFile& opened = trace_.files[path];
        ++opened.opens;
        opened.open_s += seconds;
        if ((call.flags & O_ACCMODE) == O_RDONLY && !is_program_file(path)) {
          std::string& before = last_[entry.pid];
          if (!before.empty()) {
            ++trace_.opens_followed;
            trace_.opens_in_order += path > before;
          }
          before = path;
        }
        break;
      }
      case Op::read:
        if (file == nullptr || call.result < 0) break;
        ++file->reads;
        file->read_bytes += static_cast<std::uint64_t>(call.result);
        file->read_s += seconds;
        if (!is_program_file(by_fd->second)) ++trace_.read_sizes[call.size];
        break;
      case Op::write:
        if (file == nullptr || call.result < 0) break;
        ++file->writes;
        file->written_bytes += static_cast<std::uint64_t>(call.result);
        break;
      case Op::seek:
        if (file != nullptr) ++file->seeks;
        break;
      case Op::stat:
        if (file != nullptr && call.path_bytes == 0)
          ++file->attributes;
        else if (call.path_bytes > 0 && call.result >= 0)
          if (const auto known = trace_.files.find(whole(entry, table)); known != trace_.files.end())
            ++known->second.attributes;
        break;
      case Op::close:
        if (file != nullptr) ++file->closes;
        table.erase(call.fd);
        break;
      case Op::sync:
        if (file != nullptr) ++file->syncs;
        break;
      case Op::map:
        if (file != nullptr) ++file->maps;
        break;
      case Op::duplicate:
        if (by_fd != table.end() && call.result >= 0) table[call.flags] = by_fd->second;
        break;
      case Op::rename: {
        const std::string_view both = entry.path();
        const std::size_t end = both.find('\0');
        if (call.result < 0 || end == both.npos) break;
        const auto known = trace_.files.find(std::string(both.substr(0, end)));
        if (known != trace_.files.end()) known->second.renamed_to = std::string(both.substr(end + 1));
        break;
      }
      case Op::remove:
        break;
    }
  }

 private:
  using Table = std::map<int, std::string>;

  /// As it was given, behind the folder that it lies in where that is known.
  std::string whole(const Entry& entry, const Table& table) const {
    const std::string path(entry.path());
    if (path.starts_with("/") || entry.call->fd == AT_FDCWD) return fs::absolute(path).lexically_normal().string();
    const auto folder = table.find(entry.call->fd);
    return folder == table.end() ? path : folder->second + "/" + path;
  }

  Trace& trace_;
  std::map<int, Table> descriptors_;
  std::map<int, std::string> last_;
};

Learned& known(Observation& seen, const std::string& key) {
  const auto found =
      std::find_if(seen.learned.begin(), seen.learned.end(), [&](const Learned& one) { return one.key == key; });
  if (found != seen.learned.end()) return *found;
  seen.learned.push_back({.key = key, .text = {}, .evidence = {}});
  return seen.learned.back();
}

void put(Observation& seen, const std::string& key, double value, Dimension dimension, const std::string& evidence) {
  std::string text = compact_quantity(value, dimension, 4);
  std::erase(text, ' ');
  known(seen, key) = {.key = key,
                      .text = text,
                      .dimension = dimension,
                      .value = value,
                      .low = value,
                      .high = value,
                      .confidence = Confidence::high,
                      .evidence = evidence};
}

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

Trace TraceMemory::read() const {
  Trace trace;
  const std::vector<Entry> entries = entries_of(memory_, bytes_);
  trace.calls = entries.size();
  trace.dropped = reinterpret_cast<const Arena*>(memory_)->dropped.load();
  Follower follower(trace);
  for (const Entry& entry : entries) follower.take(entry);
  return trace;
}

void apply_trace(const Trace& trace, Observation& seen) {
  if (trace.dropped > 0)
    seen.notes.push_back(fmt::format("of {} calls {} were traced: there was no room for more",
                                     trace.calls + trace.dropped, trace.calls));
  if (trace.calls == 0) {
    seen.notes.push_back(
        "nothing was traced: the command is linked statically, changed its user, or cleaned its environment");
    return;
  }
  TracedFile sum;
  std::uint64_t files = 0, read_whole = 0, once = 0;
  std::set<std::string> folders;
  const std::vector<std::string>& ends = seen.data.extensions;  // looks may have seen a part of the folders
  for (const auto& [path, file] : trace.files) {
    if (file.opens == 0 || file.read_bytes == 0 || file.written_bytes > 0 || is_program_file(path)) continue;
    if (!ends.empty() && std::find(ends.begin(), ends.end(), fs::path(path).extension().string()) == ends.end())
      continue;
    ++files;
    folders.insert(fs::path(path).parent_path().string());
    sum.opens += file.opens;
    sum.reads += file.reads;
    sum.read_bytes += file.read_bytes;
    sum.attributes += file.attributes;
    sum.closes += file.closes;
    sum.open_s += file.open_s;
    sum.read_s += file.read_s;
    once += file.opens == 1;
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 &&
        file.read_bytes >= file.opens * static_cast<std::uint64_t>(status.st_size))
      ++read_whole;
  }
  for (const auto& [path, file] : trace.files)
    if (file.written_bytes >= (1 << 20))
      seen.notes.push_back(fmt::format("{} was written: {} in {} calls, synced {} times{}", path,
                                       format_quantity(static_cast<double>(file.written_bytes), Dimension::bytes),
                                       file.writes, file.syncs,
                                       file.renamed_to.empty() ? "" : ", renamed to " + file.renamed_to));
  if (files == 0) {
    seen.notes.push_back("no file of a data set was read by calls that are traced");
    return;
  }
  const std::string what =
      fmt::format("{} files of {} folders were opened {} times, {} of them read whole each time{}", files,
                  folders.size(), sum.opens, read_whole, once == files ? ", each once" : "");
  seen.notes.push_back(fmt::format(
      "traced: {}; an open took {}, a read {} on average", what,
      format_quantity(sum.open_s / static_cast<double>(sum.opens), Dimension::seconds),
      format_quantity(sum.read_s / static_cast<double>(std::max<std::uint64_t>(1, sum.reads)), Dimension::seconds)));
  const double opens = static_cast<double>(sum.opens);
  put(seen, "dataset.metadata_ops_per_open", static_cast<double>(sum.opens + sum.attributes + sum.closes) / opens,
      Dimension::ratio,
      fmt::format("traced: {} opens, {} questions for attributes, {} closes", sum.opens, sum.attributes, sum.closes));
  const Learned& layout = known(seen, "dataset.layout");
  if (layout.text != "files") return;
  put(seen, "dataset.sample_size", static_cast<double>(sum.read_bytes) / opens, Dimension::bytes, "traced: " + what);
  if (!seen.data.complete || seen.data.files < files)
    put(seen, "dataset.samples", static_cast<double>(files), Dimension::count, "traced: " + what);
  if (sum.reads > 0) {
    std::uint64_t small = 0, all = 0;
    for (const auto& [size, times] : trace.read_sizes) {
      all += times;
      small += size <= 65536 ? times : 0;
    }
    const bool pieces = static_cast<double>(sum.reads) > 3 * opens && small * 10 > all * 9;
    Learned& profile = known(seen, "dataset.read_profile");
    profile = {.key = "dataset.read_profile",
               .text = pieces ? "pil" : "whole",
               .confidence = Confidence::high,
               .evidence = fmt::format("traced: {:.1f} reads for an open, {:.0f} % of them for 64 KiB or less",
                                       static_cast<double>(sum.reads) / opens,
                                       all > 0 ? 100.0 * static_cast<double>(small) / static_cast<double>(all) : 0)};
  }
  if (trace.opens_followed >= 20) {
    const double in_order = static_cast<double>(trace.opens_in_order) / static_cast<double>(trace.opens_followed);
    seen.notes.push_back(in_order > 0.9 ? "files were opened in the order of their names"
                                        : "files were opened in shuffled order");
  }
}

}  // namespace headrace::observe
