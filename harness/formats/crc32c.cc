#include "harness/formats/crc32c.h"

#include <array>
#include <cstring>

namespace headrace::formats {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // reversed

/// Eight bytes at a time (Kounavis and Berry: Novel Table Lookup-Based Algorithms for High-Performance CRC Generation).
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t)
    for (std::size_t byte = 0; byte < 256; ++byte)
      tables[t][byte] = (tables[t - 1][byte] >> 8) ^ tables[0][tables[t - 1][byte] & 255];
  return tables;
}
constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(const unsigned char* at, std::size_t left,
                                                               std::uint32_t crc) noexcept {
  std::uint64_t wide = crc;
  for (; left >= 8; at += 8, left -= 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; left > 0; ++at, --left) crc = __builtin_ia32_crc32qi(crc, *at);
  return crc;
}
const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t crc32c_by_tables(std::span<const unsigned char> bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  const unsigned char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint32_t low = crc ^ (std::uint32_t{at[0]} | std::uint32_t{at[1]} << 8 | std::uint32_t{at[2]} << 16 |
                                     std::uint32_t{at[3]} << 24);
    crc = kTables[7][low & 255] ^ kTables[6][low >> 8 & 255] ^ kTables[5][low >> 16 & 255] ^ kTables[4][low >> 24] ^
          kTables[3][at[4]] ^ kTables[2][at[5]] ^ kTables[1][at[6]] ^ kTables[0][at[7]];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTables[0][(crc ^ *at) & 255];
  return ~crc;
}

std::uint32_t crc32c(std::span<const unsigned char> bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  if (kHasInstruction) return ~by_instruction(bytes.data(), bytes.size(), ~before);
#endif
  return crc32c_by_tables(bytes, before);
}

}  // namespace headrace::formats
