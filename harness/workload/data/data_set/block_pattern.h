// Content with its place. Every 4 KiB block names its data set, file and position, and the rest follows from those
// three. Each byte can be checked without a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/random.h"

namespace headrace {

inline constexpr std::uint64_t kBlock = 4096;  // [B]

/// The place of a block. It is at the block's start, followed by pseudo-random bytes (incompressible, no two blocks
/// alike).
struct BlockLabel {
  std::uint64_t data_set = 0;  // data_set_key(); for checkpoints also the generation
  std::uint64_t file = 0;      // index in the data set
  std::uint64_t block = 0;     // offset / 4096

  bool operator==(const BlockLabel&) const = default;
};

/// Mixes a name into a key that differs between data sets; not a cryptographic hash.
std::uint64_t data_set_key(std::string_view id);

/// Writes the 4096 bytes of the block with this label.
void fill_block(const BlockLabel& label, unsigned char* out) noexcept;

/// Writes bytes [offset, offset + length) of a file; both may be inside blocks. Whole blocks are made in place.
void fill_range(std::uint64_t data_set, std::uint64_t file, std::uint64_t offset, unsigned char* out,
                std::uint64_t length) noexcept;

/// The label in front of `block` (at least kLabelBytes long); nothing when there is none that makes
/// sense.
inline constexpr std::uint64_t kLabelBytes = 40;
std::optional<BlockLabel> read_label(const unsigned char* block) noexcept;

}  // namespace headrace
