// A data set before packing: its samples, a few files each or parts in shards, and the class of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/backends/formats/mds.h"
#include "harness/record/data_report.h"
#include "harness/record/file_table.h"

namespace headrace {
class ObjectStore;
}

namespace headrace::pack {

/// Files of one folder whose names differ only in their extension: an image, and files that belong to it.
struct Sample {
  std::uint32_t first = 0, count = 0;  // in ImageFolder::order
  std::int32_t label = -1;             // in ImageFolder::classes, where it has any; -1 = none
};

/// Where a part of a sample is.
struct Place {
  static constexpr std::uint32_t kText = 0xffffffff;
  std::uint32_t shard = kText;  // in ImageFolder::shards; kText: the part is in ImageFolder::texts
  std::uint64_t offset = 0;
};

struct ImageFolder {
  FileTable files;                                 // of samples in shards each part, as KEY.PART
  FileTable shards;                                // none: the samples are files
  formats::Format format = formats::Format::none;  // of the shards
  std::vector<Place> places;                       // of each part
  std::string texts;                               // numbers, which shards hold in binary
  bool whole = false;  // shards of the same format are packed: samples of TFRecord and MDS are copied as they are
  std::vector<formats::MdsColumn> columns;  // of MDS samples that are copied
  ObjectStore* store = nullptr;             // of the files, where they are objects
  std::vector<std::int64_t> stamps;  // of each file or shard: when it was modified [ns]; of an object its version
  std::vector<std::uint32_t> order;  // of files, those of a sample together
  std::vector<Sample> samples;       // by their names; if any has an image, only those with one
  std::vector<std::string>
      classes;  // all folders at the top, in the order in which torchvision's ImageFolder numbers them
  std::vector<std::pair<std::string, std::uint64_t>> left_out;  // a reason, and how many
  std::vector<std::string> empty_files;  // the first 8 of those that have no byte; they are packed, too
  std::string no_image;                  // the first file that surely is none, and what it is; packed, too
  std::uint64_t mark = 0;                // of all names, sizes and stamps: another folder has another

  bool in_shards() const { return shards.count() > 0; }
  std::uint64_t bytes(const Sample& sample) const;
  /// "jpg": what a file is in its sample.
  std::string part(std::uint32_t file) const;
  /// Classes that no sample has.
  std::vector<std::string> empty_classes() const;
  /// The sample's name: its path without the extension, in the form that loaders read back. Dots in its last part and
  /// line breaks become '_', and of several '_' at its beginning one is left.
  std::string key(const Sample& sample) const;
};

/// Lists `path`, which is only read; objects are in `store`. Shards alone, next to side files, are listed by their
/// samples for packing as `to`. Throws RunError where a listing fails or is empty. Throws
/// UsageError, which names files that would be lost or mislabelled. Examples are two files for one part of a sample, two
/// samples of one key, symbolic links and unreadable files. Others are hidden folders among the classes, and files next
/// to them.
ImageFolder list_images(const std::string& path, const DataProgress& progress, bool follow_links = false,
                        ObjectStore* store = nullptr, formats::Format to = formats::Format::tar);

/// No reader may find two images, or two parts of one name, in a sample. Throws UsageError, which names both.
void check_parts(const ImageFolder& from, const Sample& sample);

/// "a/b.c.JPG" -> "a/b.c" and "jpg".
std::pair<std::string_view, std::string> cut_extension(std::string_view path);

}  // namespace headrace::pack
