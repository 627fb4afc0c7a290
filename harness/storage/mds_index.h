// What index.json says of MDS shards, held to the shards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/file_table.h"

namespace headrace {

/// By its name.
bool is_mds_index(std::string_view path) noexcept;

/// Where an index.json of the data set contradicts it, in words that begin with the file: a shard that is not there, of
/// another size, with another count of samples, or that no index names. None where there is no index. Untimed: opens
/// `shards` (in `files`), each once.
std::vector<std::string> mds_index_faults(const FileTable& files, std::span<const std::uint32_t> shards);

}  // namespace headrace
