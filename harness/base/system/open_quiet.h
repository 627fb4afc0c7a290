// Opens for reading without leaving a trace in access times, where that is allowed.
#pragma once

#include <fcntl.h>

#include <cerrno>

#include "harness/base/system/open_beneath.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::system {

/// Opens `path` for reading; only owners may ask that the access time stay. Below an open `folder`, or from the top
/// where the path is absolute, no symbolic link is followed anywhere. From AT_FDCWD all are. Errors are in errno.
inline UniqueFd open_quiet(int folder, const char* path, int flags = 0) {
  UniqueFd top;
  if (folder != AT_FDCWD && path[0] == '/') {
    top = UniqueFd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    folder = top.get();
    ++path;
  }
  const auto open = [&](int more) {
    const int all = O_RDONLY | O_CLOEXEC | flags | more;
    return UniqueFd(folder == AT_FDCWD ? ::openat(folder, path, all) : open_beneath(folder, path, all));
  };
  UniqueFd fd = open(O_NOATIME);
  return !fd && errno == EPERM ? open(0) : std::move(fd);
}

}  // namespace headrace::system
