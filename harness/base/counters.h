// What the kernel counts.
#pragma once

#include <cstdint>

namespace headrace::system {

/// What a counter grew by; 0: it began anew.
inline std::uint64_t grown(std::uint64_t later, std::uint64_t earlier) noexcept {
  return later > earlier ? later - earlier : 0;
}

/// In which /sys/block and /proc/diskstats count, whatever the device's own are [B].
inline constexpr std::uint64_t kSector = 512;

}  // namespace headrace::system
