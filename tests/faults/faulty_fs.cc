// faulty_fs - a file system with faults to order: passes everything through to a backing folder, except what its rules
// say. For tests.
//
//   faulty_fs BACKING MOUNT [counted]
//
// counted: it mounts as JuiceFS would, and MOUNT/.stats has the bytes that were read from BACKING, as that client's has
// those of its object store: so that cold reads can be proven.
// Serves until it is unmounted. Rules are written to, and read back from, MOUNT/.faults: one a line, FAULT GLOB
// [KEY=VALUE ...]; GLOB is matched against the path and against the name alone. Writing replaces all rules and lets
// go of what hangs; reading gives each rule and how often it came into play.
//
//   error    op= errno= [at=] [from=] [flag=direct]   the operation fails: of reads and writes those that touch byte
//                                                     `at`, or go beyond `from`; of opens those with O_DIRECT
//   delay    op= ms=                                  the operation takes so much longer
//   hang     op= [at=]                                it does not return until the rules change
//   uncached                                          reads and writes bypass the page cache
//   short                                             a read gives half of what was asked for (needs uncached)
//   end      at=                                      reads find the file's end there
//   torn     at=                                      the second half of the 4 KiB block there is something else
//   swapped  at= with=                                two blocks are in each other's place
//   stale    at= [from=PATH]                          the block comes from another backing file; without one, from what
//                                                     a rename replaced
//   kept                                              what was read once is served from memory from then on, whatever
//                                                     becomes of the page cache (needs uncached to be seen at once)
//   lost     at=                                      a write to that block is acknowledged and forgotten
//
// op: open create read write fsync rename unlink close fallocate getattr opendir readdir
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <fuse.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t kBlock = 4096;
constexpr std::string_view kControl = "/.faults", kStats = "/.stats";
constexpr const char* kReplaced = ".replaced";  // in the backing folder: what the last rename replaced

struct Rule {
  std::string line, fault, glob;
  std::map<std::string, std::string> keys;
  std::uint64_t used = 0;  // under the rules' mutex

  bool has(const char* key) const { return keys.count(key) != 0; }
  std::int64_t number(const char* key, std::int64_t fallback = -1) const {
    const auto found = keys.find(key);
    return found == keys.end() ? fallback : std::stoll(found->second);
  }
  bool names(const char* path) const {
    const char* name = std::strrchr(path, '/') + 1;
    return ::fnmatch(glob.c_str(), path + 1, 0) == 0 || ::fnmatch(glob.c_str(), name, 0) == 0;
  }
};

class Rules {
 public:
  void replace(std::string_view text) {
    std::vector<Rule> fresh;
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
      Rule rule{.line = line, .fault = {}, .glob = {}, .keys = {}};
      std::istringstream words(line);
      if (!(words >> rule.fault >> rule.glob)) continue;
      for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        rule.keys[word.substr(0, equals)] = equals == word.npos ? "" : word.substr(equals + 1);
      }
      fresh.push_back(std::move(rule));
    }
    const std::lock_guard lock(mutex_);
    rules_ = std::move(fresh);
    ++generation_;
    changed_.notify_all();
  }

  std::string describe() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const Rule& rule : rules_) text += rule.line + " # " + std::to_string(rule.used) + "\n";
    return text;
  }

  /// What holds for an operation, in the rules' order; `fits` says whether a rule comes into play.
  template <class Fits>
  std::vector<Rule> of(const char* path, Fits fits) {
    const std::lock_guard lock(mutex_);
    std::vector<Rule> found;
    for (Rule& rule : rules_) {
      if (!rule.names(path) || !fits(rule)) continue;
      ++rule.used;
      found.push_back(rule);
    }
    return found;
  }

  void wait_for_change() {
    std::unique_lock lock(mutex_);
    const auto now = generation_;
    changed_.wait(lock, [&] { return generation_ != now; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Rule> rules_;
  std::uint64_t generation_ = 0;
};

Rules rules;
int backing = -1;

/// Whole files in this process's own memory, as clients of remote storage hold them.
class Kept {
 public:
  ssize_t read(const char* path, int fd, char* buffer, std::size_t size, off_t offset) {
    const std::lock_guard lock(mutex_);
    auto [file, is_new] = files_.try_emplace(path);
    if (is_new) {
      struct stat status;
      if (::fstat(fd, &status) != 0) return -1;
      file->second.resize(static_cast<std::size_t>(status.st_size));
      if (::pread(fd, file->second.data(), file->second.size(), 0) < 0) return -1;
    }
    const auto at = std::min(file->second.size(), static_cast<std::size_t>(offset));
    return static_cast<ssize_t>(file->second.copy(buffer, size, at));
  }
  void forget(const char* path) {
    const std::lock_guard lock(mutex_);
    files_.erase(path);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> files_;
};
Kept kept_files;

const char* below(const char* path) { return path[1] ? path + 1 : "."; }
int failed(int result) { return result < 0 ? -errno : 0; }
int handle(const fuse_file_info* info) { return static_cast<int>(info->fh); }

/// Delays, hangs and errors ordered for an operation; 0 or -errno. `offset` < 0: it has no place.
int ordered(const char* path, std::string_view op, std::int64_t offset = -1, std::int64_t size = 0, int flags = 0) {
  const auto fits = [&](const Rule& rule) {
    if (rule.fault != "error" && rule.fault != "delay" && rule.fault != "hang") return false;
    const auto wanted = rule.keys.find("op");
    if (wanted == rule.keys.end() || wanted->second != op) return false;
    if (rule.has("at")) {
      const std::int64_t at = rule.number("at");
      return offset <= at && at < offset + size;
    }
    if (rule.has("from")) return offset + size > rule.number("from");
    return !rule.has("flag") || (flags & O_DIRECT) != 0;
  };
  for (const Rule& rule : rules.of(path, fits)) {
    if (rule.fault == "delay") std::this_thread::sleep_for(std::chrono::milliseconds(rule.number("ms", 0)));
    if (rule.fault == "hang") rules.wait_for_change();
    if (rule.fault == "error") return -static_cast<int>(rule.number("errno", EIO));
  }
  return 0;
}

/// Puts into `buffer`, which holds [offset, offset + size), the part of `block` (at `at`) that lies in it.
void put_block(const char* block, std::int64_t at, char* buffer, std::int64_t offset, std::int64_t size) {
  const std::int64_t first = std::max(at, offset), last = std::min(at + kBlock, offset + size);
  if (first < last)
    std::memcpy(buffer + (first - offset), block + (first - at), static_cast<std::size_t>(last - first));
}

void copy_block(int fd, std::int64_t from, std::int64_t to, char* buffer, std::int64_t offset, std::int64_t size) {
  char block[kBlock] = {};
  if (::pread(fd, block, kBlock, from) > 0) put_block(block, to, buffer, offset, size);
}

/// Wrong data ordered for what was read.
void spoil(const char* path, int fd, char* buffer, std::int64_t offset, std::int64_t size) {
  const auto touches = [&](std::int64_t at) { return at >= 0 && at < offset + size && offset < at + kBlock; };
  const auto fits = [&](const Rule& rule) {
    if (rule.fault == "swapped") return touches(rule.number("at")) || touches(rule.number("with"));
    return (rule.fault == "torn" || rule.fault == "stale") && touches(rule.number("at"));
  };
  for (const Rule& rule : rules.of(path, fits)) {
    const std::int64_t at = rule.number("at");
    if (rule.fault == "torn") {
      char block[kBlock] = {};
      if (::pread(fd, block, kBlock, at) <= 0) continue;
      std::memset(block + kBlock / 2, 0x2e, kBlock / 2);
      put_block(block, at, buffer, offset, size);
    } else if (rule.fault == "swapped") {
      const std::int64_t other = rule.number("with");
      copy_block(fd, other, at, buffer, offset, size);
      copy_block(fd, at, other, buffer, offset, size);
    } else {
      const auto named = rule.keys.find("from");
      const char* from = named == rule.keys.end() ? kReplaced : named->second.c_str();
      const int old = ::openat(backing, from, O_RDONLY | O_CLOEXEC);
      if (old < 0) continue;
      copy_block(old, at, at, buffer, offset, size);
      ::close(old);
    }
  }
}

bool is(const char* path, const char* fault) {
  return !rules.of(path, [&](const Rule& rule) { return rule.fault == fault; }).empty();
}

std::atomic<std::uint64_t> read_bytes{0};
bool counted = false;

bool is_own(std::string_view path) { return path == kControl || (counted && path == kStats); }

std::string text_of(std::string_view path) {
  return path == kControl ? rules.describe()
                          : "juicefs_object_request_data_bytes_GET " + std::to_string(read_bytes.load()) + "\n";
}

// The operations, as libfuse names them.

void* init(fuse_conn_info* connection, fuse_config* config) {
  // Else the kernel lets 12 readaheads be under way, of all readers together.
  connection->max_background = 256;
  connection->congestion_threshold = 192;
  config->use_ino = 1;
  config->kernel_cache = 1;  // what was read stays when the file is opened again
  return nullptr;
}

int getattr(const char* path, struct stat* status, fuse_file_info*) {
  if (is_own(path)) {
    *status = {};
    status->st_mode = S_IFREG | 0600;
    status->st_nlink = 1;
    return 0;
  }
  if (const int code = ordered(path, "getattr")) return code;
  return failed(::fstatat(backing, below(path), status, AT_SYMLINK_NOFOLLOW));
}

int opendir(const char* path, fuse_file_info*) { return ordered(path, "opendir"); }

int readdir(const char* path, void* buffer, fuse_fill_dir_t fill, off_t, fuse_file_info*, fuse_readdir_flags) {
  if (const int code = ordered(path, "readdir")) return code;
  const int fd = ::openat(backing, below(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> list(fd < 0 ? nullptr : ::fdopendir(fd), ::closedir);
  if (!list) return -errno;
  while (const dirent* entry = ::readdir(list.get())) {
    if (std::string_view(entry->d_name) != kReplaced) fill(buffer, entry->d_name, nullptr, 0, fuse_fill_dir_flags{});
  }
  return 0;
}

int open_with(const char* path, std::string_view op, int flags, mode_t mode, fuse_file_info* info) {
  if (const int code = ordered(path, op, -1, 0, flags)) return code;
  // Direct or not concerns the caller's side; what is written may have to be read here.
  flags &= ~(O_DIRECT | O_NOATIME | O_APPEND);
  if ((flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR;
  const int fd = ::openat(backing, below(path), flags | O_CLOEXEC, mode);
  if (fd < 0) return -errno;
  info->fh = static_cast<std::uint64_t>(fd);
  info->direct_io = is(path, "uncached");
  return 0;
}

int open(const char* path, fuse_file_info* info) {
  if (is_own(path)) {
    info->direct_io = 1;
    return 0;
  }
  return open_with(path, "open", info->flags, 0, info);
}

int create(const char* path, mode_t mode, fuse_file_info* info) {
  return open_with(path, "create", info->flags | O_CREAT, mode, info);
}

int read(const char* path, char* buffer, std::size_t asked, off_t offset, fuse_file_info* info) {
  if (is_own(path)) {
    const std::string text = text_of(path);
    const auto at = std::min(text.size(), static_cast<std::size_t>(offset));
    return static_cast<int>(text.copy(buffer, asked, at));
  }
  auto size = static_cast<std::int64_t>(asked);
  if (const int code = ordered(path, "read", offset, size)) return code;
  for (const Rule& rule : rules.of(path, [](const Rule& r) { return r.fault == "end"; }))
    size = std::clamp<std::int64_t>(rule.number("at") - offset, 0, size);
  if (size > 1 && is(path, "short")) size /= 2;
  const ssize_t n = is(path, "kept")
                        ? kept_files.read(path, handle(info), buffer, static_cast<std::size_t>(size), offset)
                        : ::pread(handle(info), buffer, static_cast<std::size_t>(size), offset);
  if (n < 0) return -errno;
  read_bytes += static_cast<std::uint64_t>(n);
  spoil(path, handle(info), buffer, offset, n);
  return static_cast<int>(n);
}

int write(const char* path, const char* data, std::size_t asked, off_t offset, fuse_file_info* info) {
  if (path == kControl) {
    rules.replace({data, asked});
    return static_cast<int>(asked);
  }
  kept_files.forget(path);
  const auto size = static_cast<std::int64_t>(asked);
  if (const int code = ordered(path, "write", offset, size)) return code;
  std::vector<char> kept;
  const auto touches = [&](const Rule& rule) {
    return rule.fault == "lost" && rule.number("at") < offset + size && offset < rule.number("at") + kBlock;
  };
  for (const Rule& rule : rules.of(path, touches)) {
    if (kept.empty()) kept.assign(data, data + asked);
    char before[kBlock] = {};
    if (::pread(handle(info), before, kBlock, rule.number("at")) < 0) return -errno;
    put_block(before, rule.number("at"), kept.data(), offset, size);
  }
  const ssize_t n = ::pwrite(handle(info), kept.empty() ? data : kept.data(), asked, offset);
  return n < 0 ? -errno : static_cast<int>(n);
}

int release(const char* path, fuse_file_info* info) { return is_own(path) ? 0 : failed(::close(handle(info))); }
int flush(const char* path, fuse_file_info*) { return is_own(path) ? 0 : ordered(path, "close"); }

int fsync(const char* path, int, fuse_file_info* info) {
  if (const int code = ordered(path, "fsync")) return code;
  return failed(::fsync(handle(info)));
}

int fallocate(const char* path, int mode, off_t offset, off_t length, fuse_file_info* info) {
  if (const int code = ordered(path, "fallocate")) return code;
  return failed(::fallocate(handle(info), mode, offset, length));
}

int rename(const char* from, const char* to, unsigned flags) {
  if (const int code = ordered(to, "rename")) return code;
  if (is(to, "stale")) {
    ::unlinkat(backing, kReplaced, 0);
    if (::linkat(backing, below(to), backing, kReplaced, 0) != 0 && errno != ENOENT) return -errno;
  }
  return failed(::renameat2(backing, below(from), backing, below(to), flags));
}

int truncate(const char* path, off_t size, fuse_file_info* info) {
  if (path == kControl) return 0;
  if (info) return failed(::ftruncate(handle(info), size));
  const int fd = ::openat(backing, below(path), O_WRONLY | O_CLOEXEC);
  const int code = fd < 0 ? -errno : failed(::ftruncate(fd, size));
  if (fd >= 0) ::close(fd);
  return code;
}

int mkdir(const char* path, mode_t mode) { return failed(::mkdirat(backing, below(path), mode)); }
int unlink(const char* path) {
  if (const int code = ordered(path, "unlink")) return code;
  return failed(::unlinkat(backing, below(path), 0));
}
int rmdir(const char* path) { return failed(::unlinkat(backing, below(path), AT_REMOVEDIR)); }
int chmod(const char* path, mode_t mode, fuse_file_info*) { return failed(::fchmodat(backing, below(path), mode, 0)); }
int utimens(const char* path, const timespec times[2], fuse_file_info*) {
  return failed(::utimensat(backing, below(path), times, AT_SYMLINK_NOFOLLOW));
}
int statfs(const char*, struct statvfs* status) { return failed(::fstatvfs(backing, status)); }

fuse_operations operations() {
  fuse_operations all{};
  all.getattr = getattr;
  all.mkdir = mkdir;
  all.unlink = unlink;
  all.rmdir = rmdir;
  all.rename = rename;
  all.chmod = chmod;
  all.truncate = truncate;
  all.open = open;
  all.read = read;
  all.write = write;
  all.statfs = statfs;
  all.flush = flush;
  all.release = release;
  all.fsync = fsync;
  all.opendir = opendir;
  all.readdir = readdir;
  all.init = init;
  all.create = create;
  all.utimens = utimens;
  all.fallocate = fallocate;
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  counted = argc == 4 && std::string_view(argv[3]) == "counted";
  if (argc != 3 && !counted) {
    std::fprintf(stderr, "usage: %s BACKING MOUNT [counted]\n", argv[0]);
    return 2;
  }
  backing = ::open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (backing < 0) {
    std::perror(argv[1]);
    return 2;
  }
  // Threads enough that some can hang; in the foreground, so that whoever started it can end it.
  char foreground[] = "-f", option[] = "-o",
       threads[] = "max_threads=64,max_idle_threads=64,fsname=faulty,subtype=faulty",
       as_juicefs[] = "max_threads=64,max_idle_threads=64,fsname=faulty,subtype=juicefs";
  char* arguments[] = {argv[0], argv[2], foreground, option, counted ? as_juicefs : threads, nullptr};
  const fuse_operations all = operations();
  return fuse_main(5, arguments, &all, nullptr);
}
