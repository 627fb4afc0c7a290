// A small file of the user's own that programs share, such as a login.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "harness/base/system/unique_fd.h"

namespace headrace::files {

/// Replaces a regular file of this user whole or not at all, readable by the owner alone. It makes none, and follows no
/// link. False: the file is another one, or the system refuses.
inline bool replace_own(const std::string& path, const std::string& text) noexcept {
  struct stat before {};
  if (::lstat(path.c_str(), &before) != 0 || !S_ISREG(before.st_mode) || before.st_uid != ::geteuid()) return false;
  std::string next = path + ".XXXXXX";
  const system::UniqueFd fd(::mkostemp(next.data(), O_CLOEXEC));
  if (!fd) return false;
  const bool replaced = ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                        ::rename(next.c_str(), path.c_str()) == 0;
  if (!replaced) ::unlink(next.c_str());
  return replaced;
}

}  // namespace headrace::files
