// A folder of samples, a few files each, as it is to be packed: which files make a sample, and which class it has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/record/data_report.h"
#include "harness/record/file_table.h"

namespace headrace::pack {

/// Files of one folder whose names differ only in their extension: an image, and what lies beside it.
struct Sample {
  std::uint32_t first = 0, count = 0;  // in ImageFolder::order
  std::int32_t label = -1;             // in ImageFolder::classes; -1 = none
};

struct ImageFolder {
  FileTable files;
  std::vector<std::int64_t> stamps;  // of each file: when it was modified [ns]
  std::vector<std::uint32_t> order;  // of files, those of a sample together
  std::vector<Sample> samples;       // by their names
  std::vector<std::string>
      classes;  // all folders at the top, in the order in which torchvision's ImageFolder numbers them
  std::vector<std::pair<std::string, std::uint64_t>> left_out;  // a reason, and how many
  std::vector<std::string> empty_files;  // the first 8 of those that have no byte; they are packed, too
  std::uint64_t mark = 0;                // of all names, sizes and stamps: another folder has another

  std::uint64_t bytes(const Sample& sample) const;
  /// Classes that no sample has.
  std::vector<std::string> empty_classes() const;
  /// What the sample is called: its path without the extension, in the form that loaders read back. Dots in its last part
  /// and line breaks become '_', and of "__" at its beginning one goes.
  std::string key(const Sample& sample) const;
};

/// Lists `path`, which is only read. Throws RunError where a listing fails or nothing is there, and UsageError, which names
/// files, for what would be lost or mislabelled: two files that would be one part of one sample, two samples of one key,
/// symbolic links that are not followed, what may not be read, hidden folders among the classes, files beside the classes'
/// folders.
ImageFolder list_images(const std::string& path, const DataProgress& progress, bool follow_links = false);

/// "a/b.c.JPG" -> "a/b.c" and "jpg".
std::pair<std::string_view, std::string> cut_extension(std::string_view path);

}  // namespace headrace::pack
