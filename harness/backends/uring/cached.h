// With one request in flight a ring has nothing to overlap. For cached data it costs a fifth more than a system call.
// Such data is read without the ring; requests that would have to wait go through it.
#pragma once

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdint>

#include "harness/backends/file_io.h"

namespace headrace::uring {

inline constexpr const char* kCachedFirst = "io_uring, 1 in flight: cached pages are read without the ring";

inline bool is_cached_first(const ReaderOptions& options) {
  return options.queue_depth == 1 && !options.direct && !options.poll_submission;
}

/// A descriptor; -1 when opening would have to wait, or cannot be.
inline int open_if_cached(int root_fd, const char* path, int flags) noexcept {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = RESOLVE_CACHED;
  return static_cast<int>(::syscall(SYS_openat2, root_fd, path, &how, sizeof how));
}

/// The bytes at the beginning of the range that the page cache has. 0 at the end of the file. Negative when the first
/// is not there, or the file system cannot show.
inline std::int64_t read_cached(int fd, unsigned char* to, std::uint64_t length, std::uint64_t offset) noexcept {
  const iovec place{to, length};
  return ::preadv2(fd, &place, 1, static_cast<off_t>(offset), RWF_NOWAIT);
}

}  // namespace headrace::uring
