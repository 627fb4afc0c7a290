// Opens for reading without leaving a trace in access times, where that is allowed.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "harness/system/unique_fd.h"

namespace headrace::system {

/// openat(folder, path, O_RDONLY | flags); only owners may ask that the access time stay. errno
/// tells of failure.
inline UniqueFd open_quiet(int folder, const char* path, int flags = 0) {
  UniqueFd fd(::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOATIME | flags));
  if (!fd && errno == EPERM) fd = UniqueFd(::openat(folder, path, O_RDONLY | O_CLOEXEC | flags));
  return fd;
}

}  // namespace headrace::system
