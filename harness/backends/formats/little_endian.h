// Numbers as most formats store them, the lowest byte first, on any processor.
#pragma once

#include <cstdint>
#include <string>

namespace headrace::formats {

inline std::uint32_t little_endian_32(const unsigned char* bytes) noexcept {
  return bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8 | static_cast<std::uint32_t>(bytes[2]) << 16 |
         static_cast<std::uint32_t>(bytes[3]) << 24;
}

inline void put_little_endian_32(std::uint32_t number, std::string& out) {
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>(number >> 8 * i));
}

}  // namespace headrace::formats
