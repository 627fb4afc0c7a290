// What direct I/O has to be a multiple of.
#pragma once

#include <cstdint>

namespace headrace::system {

/// Offsets and lengths of direct reads and writes of an open file, folder or block device: by statx(), the device's logical
/// blocks, or what sysfs says of them [B]. 0: nothing says it.
std::uint64_t direct_alignment(int fd) noexcept;

}  // namespace headrace::system
