// Eight interleaved xorshift128+ generators per block: about as fast as memory can be written.
#include "harness/workload/data/data_set/block_pattern.h"

#include <algorithm>
#include <cstring>

namespace headrace {
namespace {

/// As stored at the start of a block. `check` guards against random bytes that look like a label.
struct StoredLabel {
  std::uint64_t magic, data_set, file, block, check;
};
static_assert(sizeof(StoredLabel) == kLabelBytes);

constexpr std::uint64_t kMagic = 0x31304b4c42524448;  // "HDRBLK01"

std::uint64_t check_of(const BlockLabel& label) noexcept {
  return mix(label.data_set ^ mix(label.file ^ mix(label.block ^ kMagic)));
}

}  // namespace

std::uint64_t data_set_key(std::string_view id) {
  std::uint64_t key = kMagic;
  for (const char c : id) key = mix(key ^ static_cast<unsigned char>(c));
  return key;
}

void fill_block(const BlockLabel& label, unsigned char* out) noexcept {
  // GCC's and clang's vectors: the compiler splits them into the processor's registers.
  typedef std::uint64_t Lanes __attribute__((vector_size(64)));
  static_assert(kBlock % sizeof(Lanes) == 0);
  std::uint64_t seed = check_of(label);
  Lanes a, b;
  for (int lane = 0; lane < 8; ++lane) {
    a[lane] = seed = mix(seed);
    b[lane] = seed = mix(seed);
  }
  for (std::uint64_t at = 0; at < kBlock; at += sizeof(Lanes)) {
    const Lanes sum = a + b;
    std::memcpy(out + at, &sum, sizeof sum);
    a ^= a << 23;
    const Lanes next = a ^ b ^ (a >> 18) ^ (b >> 5);
    a = b;
    b = next;
  }
  const StoredLabel stored{kMagic, label.data_set, label.file, label.block, check_of(label)};
  std::memcpy(out, &stored, sizeof stored);
}

void fill_range(std::uint64_t data_set, std::uint64_t file, std::uint64_t offset, unsigned char* out,
                std::uint64_t length) noexcept {
  while (length > 0) {
    const std::uint64_t inside = offset % kBlock, part = std::min(kBlock - inside, length);
    const BlockLabel label{data_set, file, offset / kBlock};
    if (part == kBlock) {
      fill_block(label, out);
    } else {
      unsigned char block[kBlock];
      fill_block(label, block);
      std::memcpy(out, block + inside, part);
    }
    offset += part;
    out += part;
    length -= part;
  }
}

std::optional<BlockLabel> read_label(const unsigned char* block) noexcept {
  StoredLabel stored;
  std::memcpy(&stored, block, sizeof stored);
  const BlockLabel label{stored.data_set, stored.file, stored.block};
  if (stored.magic != kMagic || stored.check != check_of(label)) return std::nullopt;
  return label;
}

}  // namespace headrace
