// The kernel's counters.
#pragma once

#include <cstdint>

namespace headrace::system {

/// The growth of a counter; 0: it began anew.
inline std::uint64_t grown(std::uint64_t later, std::uint64_t earlier) noexcept {
  return later > earlier ? later - earlier : 0;
}

/// The unit of /sys/block and /proc/diskstats, regardless of the device's sectors [B].
inline constexpr std::uint64_t kSector = 512;

}  // namespace headrace::system
