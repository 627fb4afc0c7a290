// Lists the user's files or objects, read-only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/workload/data/data_set.h"

namespace headrace {

struct Walked {
  FileTable files;
  /// Folders directly below the path, by name: those that hold no file, too.
  std::vector<std::string> folders;
  /// Reason -> count: "not readable", "empty"...
  std::vector<std::pair<std::string, std::uint64_t>> left_out;
  /// The first 8 that are empty, by their names below the path.
  std::vector<std::string> empty;
};

struct WalkRules {
  bool allow_device = false;  // a block device counts as one file
  bool follow_links = true;   // symbolic links are followed to files and folders
  bool images = false;        // where some files have an image's extension, only those, as ImageFolder takes them
  /// For a copy, which must miss nothing: why an entry is not part of it, "" where it is one. With this, empty files
  /// are taken and other file systems entered. A symbolic link that is not followed, and an unreadable entry, is a
  /// UsageError that names it.
  std::function<std::string(std::string_view name, bool folder)> leaves_out = {};
};

/// Every readable, non-empty regular file below `path` (or `path` itself), by name within each folder. By-products are
/// left out (formats::by_product()). `path` may be a pattern (patterns.h). Other file systems are entered by links
/// alone, and no folder within itself. Holds one folder open at a time. Throws RunError, which names the folder or
/// file, where a listing fails or no file is left.
Walked walk(const std::string& path, const WalkRules& rules, const DataProgress& progress);

/// Forgets files without an image's extension, where others have one.
void leave_out_other_files(FileTable& files, std::map<std::string, std::uint64_t>& left_out);

class ObjectStore;

/// The same of objects below "s3://bucket/prefix", by their keys. Throws RunError in the server's own words.
Walked list_objects(ObjectStore& store, const std::string& url, const WalkRules& rules, const DataProgress& progress);

}  // namespace headrace
