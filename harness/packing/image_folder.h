// A folder of samples, a few files each, as it is to be packed: which files make a sample, and which class it has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/record/data_report.h"
#include "harness/record/file_table.h"

namespace headrace::packing {

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
  std::vector<std::string> classes;  // the folders at the top, sorted, as torchvision's ImageFolder numbers them
  std::vector<std::pair<std::string, std::uint64_t>> left_out;  // a reason, and how many
  std::uint64_t mark = 0;  // of all names, sizes and stamps: another folder has another

  std::uint64_t bytes(const Sample& sample) const;
  /// What the sample is called: its path without the extension; dots become '_', as loaders cut names at the first.
  std::string key(const Sample& sample) const;
};

/// Lists `path`, which is only read. Throws RunError when nothing readable is there, and UsageError, which names files, when
/// two samples would have one key, or files lie beside the classes' folders.
ImageFolder list_images(const std::string& path, const DataProgress& progress);

/// "a/b.c.JPG" -> "a/b.c" and "jpg".
std::pair<std::string_view, std::string> cut_extension(std::string_view path);

}  // namespace headrace::packing
