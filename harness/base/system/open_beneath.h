// Opens entries below a folder that is already open, and follows no links.
#pragma once

#include <sys/types.h>

namespace headrace::system {

/// openat(folder, path, flags | O_CLOEXEC, mode) that follows no symbolic link and never leaves `folder`. `mode`: only of
/// files that are made. A descriptor, or -1 with errno.
int open_beneath(int folder, const char* path, int flags, mode_t mode = 0) noexcept;

}  // namespace headrace::system
