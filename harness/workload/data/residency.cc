// The share of a data set in the page cache: cachestat(2), or mincore(2) in kernels without it.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <vector>

#include "harness/base/parallel.h"
#include "harness/base/system/open_quiet.h"
#include "harness/workload/data/cache_control.h"
#include "harness/workload/data/data_set/block_pattern.h"

namespace headrace {
namespace {

constexpr unsigned kOpeners = 16;        // each waits for its own file to be opened
constexpr std::uint32_t kSample = 2000;  // files looked at; enough for +-1 % at 5 %
constexpr long kOverlay = 0x794c7630;    // OVERLAYFS_SUPER_MAGIC

/// Linux 6.5; the libc headers of most distributions do not have it yet. The number is the same on
/// all architectures but alpha.
#ifdef SYS_cachestat
constexpr long kCachestat = SYS_cachestat;
#else
constexpr long kCachestat = 451;
#endif
struct CachestatRange {
  std::uint64_t offset, length;
};
struct Cachestat {
  std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

std::uint64_t page_size() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// Resident pages by cachestat; nothing with errno set.
std::optional<std::uint64_t> by_cachestat(int fd, std::uint64_t size) {
  CachestatRange range{0, size};
  Cachestat answer{};
  if (::syscall(kCachestat, fd, &range, &answer, 0u) != 0) return std::nullopt;
  return answer.cached;
}

/// Since Linux 5.2 mincore calls every page of a file resident, unless the caller owns or may write it.
bool mincore_is_true(int folder, const char* path, const struct stat& status) {
  const uid_t user = ::geteuid();
  return user == 0 || user == status.st_uid || ::faccessat(folder, path, W_OK, AT_EACCESS) == 0;
}

std::optional<std::uint64_t> by_mincore(int fd, std::uint64_t size, std::vector<unsigned char>& pages) {
  constexpr std::uint64_t kWindow = 1 << 30;  // images have terabytes
  std::uint64_t resident = 0;
  for (std::uint64_t at = 0; at < size; at += kWindow) {
    const std::uint64_t length = std::min(kWindow, size - at);
    void* map = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(at));
    if (map == MAP_FAILED) return std::nullopt;
    pages.resize((length + page_size() - 1) / page_size());
    const int failed = ::mincore(map, length, pages.data());
    ::munmap(map, length);
    if (failed) return std::nullopt;
    resident += static_cast<std::uint64_t>(
        std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
  }
  return resident;
}

/// On overlayfs the pages belong to the file below, which cachestat does not look at.
bool on_overlay(int folder) {
  struct statfs status;
  return ::fstatfs(folder, &status) == 0 && status.f_type == kOverlay;
}

/// Looks at one file; remembers whether cachestat is of no use here.
struct Looks {
  bool mincore = false;
  std::vector<unsigned char> pages;

  std::optional<std::uint64_t> resident_pages(int folder, const char* path, int fd, const struct stat& status,
                                              std::uint64_t size) {
    std::optional<std::uint64_t> found;
    if (!mincore) {
      found = by_cachestat(fd, size);
      if (!found && errno != EPERM) mincore = true;
    }
    if (mincore && mincore_is_true(folder, path, status)) found = by_mincore(fd, size, pages);
    return found;
  }
};

}  // namespace

double resident_share(const FileTable& files, std::string& method, std::uint64_t seed) {
  if (files.holds_objects()) return -1;
  const std::uint32_t looked_at = std::min(files.count(), kSample);
  struct Seen {
    Looks looks;
    double resident = 0, total = 0;
  };
  std::vector<Seen> seen(kOpeners);
  for (Seen& one : seen) one.looks.mincore = on_overlay(files.root_fd());
  parallel_for(looked_at, kOpeners, [&](unsigned worker, std::uint64_t item) {
    // One file, at a seeded place, from each of equal stretches: files made one after another are stored together.
    const std::uint64_t first = item * files.count() / looked_at;
    const std::uint64_t next = (item + 1) * files.count() / looked_at;
    const auto file = static_cast<std::uint32_t>(first + mix(seed + item) % (next - first));
    const system::UniqueFd fd = system::open_quiet(files.root_fd(), files.path(file));
    struct stat status;
    if (!fd || ::fstat(fd.get(), &status) != 0) return;
    const auto size = S_ISBLK(status.st_mode) ? files.size(file)  // a device's status reports none
                                              : static_cast<std::uint64_t>(status.st_size);
    if (size == 0) return;
    Seen& own = seen[worker];
    const auto found = own.looks.resident_pages(files.root_fd(), files.path(file), fd.get(), status, size);
    if (!found) return;
    own.resident += static_cast<double>(std::min(*found * page_size(), size));
    own.total += static_cast<double>(size);
  });
  double resident = 0, total = 0;
  bool mincore = false;
  for (const Seen& one : seen) {
    resident += one.resident;
    total += one.total;
    mincore |= one.looks.mincore;
  }
  method = mincore ? "mincore" : "cachestat";
  return total > 0 ? resident / total : -1;
}

std::optional<std::uint64_t> drop_file(const std::string& path) {
  const system::UniqueFd fd = system::open_quiet(AT_FDCWD, path.c_str());
  struct stat status;
  if (!fd || ::fstat(fd.get(), &status) != 0) return std::nullopt;
  auto size = static_cast<std::uint64_t>(status.st_size);
  if (S_ISBLK(status.st_mode) && ::ioctl(fd.get(), BLKGETSIZE64, &size) != 0) return std::nullopt;
  ::fdatasync(fd.get());  // dirty pages stay
  ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  Looks looks{.mincore = on_overlay(fd.get()), .pages = {}};
  const auto pages = looks.resident_pages(AT_FDCWD, path.c_str(), fd.get(), status, size);
  return pages ? std::optional(*pages * page_size()) : std::nullopt;
}

}  // namespace headrace
