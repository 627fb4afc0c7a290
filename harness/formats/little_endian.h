// Numbers as most formats store them, the lowest byte first, on any processor.
#pragma once

#include <cstdint>

namespace headrace::formats {

inline std::uint32_t little_endian_32(const unsigned char* bytes) noexcept {
  return bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8 | static_cast<std::uint32_t>(bytes[2]) << 16 |
         static_cast<std::uint32_t>(bytes[3]) << 24;
}

}  // namespace headrace::formats
