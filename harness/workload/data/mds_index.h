// The index.json of MDS shards, compared with the shards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/file_table.h"

namespace headrace {

/// By its name.
bool is_mds_index(std::string_view path) noexcept;

/// One contradiction, in words that begin with the file.
struct MdsIndexFault {
  std::string words;
  std::optional<std::uint32_t> shard;  // in the data set: it exists, and differs from the index
};

/// Where the index.json of a data set are not as StreamingDataset needs them: there is none. Or one names a shard that
/// is not there, of another size or with another count of samples. Or none names a shard. Untimed: opens `shards` (in
/// `files`), each once. `empty`: names of files of no bytes, which are not in `files`; others report shards of them.
std::vector<MdsIndexFault> mds_index_faults(const FileTable& files, std::span<const std::uint32_t> shards,
                                            std::span<const std::string> empty);

}  // namespace headrace
