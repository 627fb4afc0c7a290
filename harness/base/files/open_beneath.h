// The mark on what headrace makes, and the bare calls that make, rename and remove below an open folder.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/system/open_beneath.h"

namespace headrace::files {

/// What headrace makes bears this bit, set as it is made and in no way felt: that is how an empty
/// file or folder, which cannot say by its content whose it is, is reported from another's.
inline constexpr mode_t kMakersMark = S_ISVTX;
inline constexpr mode_t kFileMode = kMakersMark | 0644, kFolderMode = kMakersMark | 0755;
inline constexpr mode_t kPrivateFolderMode = kMakersMark | 0700;

inline bool bears_mark(const struct stat& status) noexcept { return (status.st_mode & kMakersMark) != 0; }

using system::open_beneath;

/// The bare calls, for timed regions that count them. False: errno. The caller looked beforehand
/// that what lies on the way to the names is its own.
/// `made`: the file is there, also where closing it failed.
inline bool create_empty(int folder, const char* path, bool& made) noexcept {
  const int fd = open_beneath(folder, path, O_CREAT | O_EXCL | O_WRONLY, kFileMode);
  made = fd >= 0;
  return made && ::close(fd) == 0;
}
inline bool rename_within(int folder, const char* from, const char* to) noexcept {
  return ::renameat(folder, from, folder, to) == 0;
}
inline bool remove_name(int folder, const char* path) noexcept { return ::unlinkat(folder, path, 0) == 0; }

}  // namespace headrace::files
