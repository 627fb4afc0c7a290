// MDS shards (mosaicml-streaming's streaming/base/format/mds): the number of samples, and where each begins and the
// last one ends. Then the writer's settings as JSON, and the samples. A sample is the sizes of its columns that vary,
// then its columns' bytes. All numbers are little-endian and of 4 bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::formats {

inline constexpr std::uint32_t kMostMdsSamples = 1 << 20;  // of one shard that is read here

/// The columns of a shard's samples, by the settings in it.
struct MdsColumns {
  std::string settings;        // as in the shard
  std::uint64_t fixed = 0;     // of the columns that have one size, together [B]
  std::uint64_t variable = 0;  // columns that have not
  /// The size of each column, in order; nothing: it varies.
  std::vector<std::optional<std::uint32_t>> sizes{};
  /// Of each, where the settings have one for each.
  std::vector<std::string> names{}, encodings{};
};

/// Nothing: these are no settings of an MDS shard.
std::optional<MdsColumns> mds_columns(std::string_view settings);

/// The columns of the shard that is open as `fd` and has `size` bytes. Nothing where its head is damaged or larger than
/// it can be.
std::optional<MdsColumns> mds_columns_of(int fd, std::uint64_t size);
/// The columns of a shard in memory.
std::optional<MdsColumns> mds_columns_in(std::span<const unsigned char> shard);

// Writing.

inline constexpr std::uint64_t kMostMdsShard = 0xffffffff;  // [B]: places are reported by 4 bytes

struct MdsColumn {
  std::string name, encoding;           // "bytes", "int", "jpeg", "png"
  std::optional<std::uint64_t> size{};  // of one size [B]; else it is reported in each sample
};
/// The settings of a data set with shards of at most `most_bytes`, ordered by name as streaming's writer does.
std::string mds_settings(const std::vector<MdsColumn>& columns, std::uint64_t most_bytes);
/// The begin of a shard: samples of that many bytes follow.
std::string mds_head(std::span<const std::uint64_t> sizes, std::string_view settings);

struct MdsShard {
  std::string name;
  std::uint64_t bytes = 0, samples = 0;
};
/// The text of index.json, without which StreamingDataset opens nothing.
std::string mds_index(std::span<const MdsShard> shards, std::string_view settings);

}  // namespace headrace::formats
