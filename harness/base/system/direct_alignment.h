// The required alignment of direct I/O.
#pragma once

#include <cstdint>

namespace headrace::system {

/// The alignment of direct reads and writes of an open file, folder or block device [B]. By statx(), the device's
/// logical blocks, or sysfs. 0: unknown.
std::uint64_t direct_alignment(int fd) noexcept;

}  // namespace headrace::system
