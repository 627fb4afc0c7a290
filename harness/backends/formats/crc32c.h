// CRC-32C (Castagnoli, RFC 3720 appendix B.4), as in TFRecord.
#pragma once

#include <cstdint>
#include <span>

namespace headrace::formats {

/// The CRC of `bytes` that follow those with CRC `before`; 0 = there are none. By the processor's own instruction where
/// it has one.
std::uint32_t crc32c(std::span<const unsigned char> bytes, std::uint32_t before = 0) noexcept;
/// The same by tables alone.
std::uint32_t crc32c_by_tables(std::span<const unsigned char> bytes, std::uint32_t before = 0) noexcept;

/// As TFRecord stores one: rotated and shifted, so that a CRC of data with CRCs differs
/// (tensorflow/core/lib/hash/crc32c.h).
constexpr std::uint32_t masked(std::uint32_t crc) noexcept { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace headrace::formats
