// Lists the user's files or objects, read-only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/storage/data_set.h"

namespace headrace {

struct Walked {
  FileTable files;
  /// Reason -> count: "symbolic link", "not readable", "empty"...
  std::vector<std::pair<std::string, std::uint64_t>> left_out;
  /// The first 8 that are empty, by their names below the path.
  std::vector<std::string> empty;
};

/// Every readable, non-empty regular file below `path` (or `path` itself, if it is one), by name
/// within each folder; with `allow_device` also a block device, as one file. Symbolic links below it are not followed, other file systems not entered.
/// Throws RunError, which says what was found instead, when no file is left.
Walked walk(const std::string& path, bool allow_device, const DataProgress& progress);

class ObjectStore;

/// The same of objects below "s3://bucket/prefix", by their keys. Throws RunError in the server's own words.
Walked list_objects(ObjectStore& store, const std::string& url, const DataProgress& progress);

}  // namespace headrace
