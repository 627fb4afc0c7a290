// The mark on what headrace makes, and the bare calls that make, rename and remove below an open folder.
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/system/open_beneath.h"

namespace headrace::files {

/// headrace sets this bit, which has no effect, on everything that it makes. It distinguishes an empty file or folder,
/// whose content proves nothing, from another program's.
inline constexpr mode_t kMakersMark = S_ISVTX;
inline constexpr mode_t kFileMode = kMakersMark | 0644, kFolderMode = kMakersMark | 0755;
inline constexpr mode_t kPrivateFolderMode = kMakersMark | 0700;

inline bool bears_mark(const struct stat& status) noexcept { return (status.st_mode & kMakersMark) != 0; }

using system::open_beneath;

/// The bare calls, for timed regions that count them. False: errno. The caller has checked that the folders on the path
/// to the names are its own. `made`: the file exists, also where closing it failed.
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
