// MDS shards (mosaicml-streaming's streaming/base/format/mds): a count of samples, where each begins and the last one ends,
// the writer's settings as JSON, and the samples; a sample is the sizes of its columns that vary, then its columns' bytes.
// All numbers are little-endian and of 4 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::formats {

inline constexpr std::uint32_t kMostMdsSamples = 1 << 20;  // of one shard that is read here

/// What the columns of a shard's samples are, by the settings in it.
struct MdsColumns {
  std::string settings;        // as they stand in the shard
  std::uint64_t fixed = 0;     // of the columns that have one size, together [B]
  std::uint64_t variable = 0;  // columns that have not
  /// Of each column, in order; nothing: it varies.
  std::vector<std::optional<std::uint32_t>> sizes{};
};

/// Nothing: these are no settings of an MDS shard.
std::optional<MdsColumns> mds_columns(std::string_view settings);

/// Of the shard that is open as `fd` and has `size` bytes; nothing where its head is damaged or larger than it can be.
std::optional<MdsColumns> mds_columns_of(int fd, std::uint64_t size);

}  // namespace headrace::formats
