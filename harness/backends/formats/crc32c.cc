#include "harness/backends/formats/crc32c.h"

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
/// The change of a register after `kStripe` zero bytes: a linear map, applied byte by byte of the register.
constexpr std::size_t kStripe = 2048;
using Shift = std::array<std::array<std::uint32_t, 256>, 4>;
constexpr Shift make_shift() {
  std::array<std::uint32_t, 32> images{};  // of each bit
  for (unsigned bit = 0; bit < 32; ++bit) {
    images[bit] = std::uint32_t{1} << bit;
    images[bit] = (images[bit] >> 8) ^ kTables[0][images[bit] & 255];
  }
  const auto image_of = [&images](std::uint32_t of) {
    std::uint32_t image = 0;
    for (unsigned bit = 0; bit < 32; ++bit)
      if (of >> bit & 1) image ^= images[bit];
    return image;
  };
  for (std::size_t bytes = 1; bytes < kStripe; bytes *= 2) {
    std::array<std::uint32_t, 32> twice{};
    for (unsigned bit = 0; bit < 32; ++bit) twice[bit] = image_of(images[bit]);
    images = twice;
  }
  Shift shift{};
  for (unsigned place = 0; place < 4; ++place)
    for (std::uint32_t byte = 0; byte < 256; ++byte) shift[place][byte] = image_of(byte << 8 * place);
  return shift;
}
constexpr Shift kShift = make_shift();
std::uint32_t shifted(std::uint64_t crc) noexcept {
  return kShift[0][crc & 255] ^ kShift[1][crc >> 8 & 255] ^ kShift[2][crc >> 16 & 255] ^ kShift[3][crc >> 24 & 255];
}

/// Three interleaved stripes: the instruction's result takes three cycles, and another can begin in each. Gopal et al.:
/// Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction.
__attribute__((target("sse4.2,crc32"))) std::uint32_t by_instruction(const unsigned char* at, std::size_t left,
                                                                     std::uint32_t crc) noexcept {
  const auto word_at = [](const unsigned char* from) {
    std::uint64_t word;
    std::memcpy(&word, from, 8);
    return word;
  };
  std::uint64_t wide = crc;
  for (; left >= 3 * kStripe; at += 3 * kStripe, left -= 3 * kStripe) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < kStripe; i += 8) {
      wide = __builtin_ia32_crc32di(wide, word_at(at + i));
      second = __builtin_ia32_crc32di(second, word_at(at + kStripe + i));
      third = __builtin_ia32_crc32di(third, word_at(at + 2 * kStripe + i));
    }
    wide = shifted(shifted(wide) ^ second) ^ third;
  }
  for (; left >= 8; at += 8, left -= 8) wide = __builtin_ia32_crc32di(wide, word_at(at));
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
