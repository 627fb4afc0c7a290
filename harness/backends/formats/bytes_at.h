// A file or object that is looked into at any place.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <functional>

namespace headrace::formats {

/// Puts up to `length` bytes from `offset` on into `to`, fewer where it ends. Returns how many, or -1 on an error.
using BytesAt = std::function<std::int64_t(std::uint64_t offset, unsigned char* to, std::uint64_t length)>;

/// The bytes of an open file.
inline BytesAt bytes_of_file(int fd) {
  return [fd](std::uint64_t offset, unsigned char* to, std::uint64_t length) -> std::int64_t {
    for (;;) {
      const ssize_t got = ::pread(fd, to, length, static_cast<off_t>(offset));
      if (got >= 0 || errno != EINTR) return got;
    }
  };
}

}  // namespace headrace::formats
