// Which files of a data set are shards, and of which format.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/formats/bytes_at.h"
#include "harness/backends/formats/format.h"
#include "harness/record/file_table.h"

namespace headrace {

struct ShardFiles {
  formats::Format format = formats::Format::none;
  std::vector<std::uint32_t> files;  // those of the format; all where it is none
  std::uint32_t others = 0;          // files next to them
  formats::Foreign foreign;          // their kind where the format is none, if that is known
  std::set<std::string> shapes;      // of the shards' names, where the content decides

  /// Would a file of that name be one of them?
  bool has(std::string_view name) const;
};

/// Looks into a file.
using LookInto = std::function<formats::BytesAt(std::uint32_t file)>;

/// By the files' names. Where no name shows it, by their content. Names that differ only in digits are of one kind, of
/// which a few are opened. `local`: shards are files of this machine, of which StreamingDataset alone reads MDS.
ShardFiles shard_files(const FileTable& files, const LookInto& look);

}  // namespace headrace
