// openat2 where the kernel has it, else every folder on the way by itself.
#include "harness/base/system/open_beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "harness/base/system/unique_fd.h"

namespace headrace::system {
namespace {

int open_step_by_step(int folder, const char* path, int flags, mode_t mode) noexcept {
  UniqueFd inner;
  for (const char* end; (end = std::strchr(path, '/')) != nullptr; path = end + 1) {
    char name[256];
    const auto length = static_cast<std::size_t>(end - path);
    if (length >= sizeof name) {
      errno = ENAMETOOLONG;
      return -1;
    }
    std::memcpy(name, path, length);
    name[length] = '\0';
    if (length == 0 || std::strcmp(name, "..") == 0) {
      errno = EXDEV;
      return -1;
    }
    inner = UniqueFd(::openat(inner ? inner.get() : folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inner) return -1;
  }
  if (std::strcmp(path, "..") == 0) {
    errno = EXDEV;
    return -1;
  }
  return ::openat(inner ? inner.get() : folder, path, flags | O_NOFOLLOW | O_CLOEXEC, mode);
}

}  // namespace

int open_beneath(int folder, const char* path, int flags, mode_t mode) noexcept {
  static std::atomic<bool> knows_openat2{true};
  if (knows_openat2.load(std::memory_order_relaxed)) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
    how.mode = mode;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    const long fd = ::syscall(SYS_openat2, folder, path, &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    if (errno == ENOSYS) knows_openat2 = false;
    // EPERM: sandboxes that do not know the call; with O_NOATIME also files of others, which the caller tries without it.
    if (errno != ENOSYS && (errno != EPERM || (flags & O_NOATIME) != 0)) return -1;
  }
  return open_step_by_step(folder, path, flags, mode);
}

}  // namespace headrace::system
