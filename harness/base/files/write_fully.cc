#include "harness/base/files/write_fully.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace headrace::files {

bool write_fully(int fd, const unsigned char* data, std::uint64_t length, std::uint64_t offset) {
  while (length > 0) {
    const ssize_t written = ::pwrite(fd, data, length, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL) {
      const int flags = ::fcntl(fd, F_GETFL);
      if ((flags & O_DIRECT) && ::fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0) continue;
      errno = EINVAL;
    }
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      return false;
    }
    data += written;
    offset += static_cast<std::uint64_t>(written);
    length -= static_cast<std::uint64_t>(written);
  }
  return true;
}

}  // namespace headrace::files
