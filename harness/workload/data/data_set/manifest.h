// The description in a generated data set's folder, so that it can be continued, used again and removed.
#pragma once

#include <sys/stat.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/files/folder.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/data_set/layout.h"

namespace headrace {

/// The kind of the mark in a data set's folder.
inline constexpr const char* kSetKind = "data_set";

/// Written anew after files have reached the storage. It is `complete` when all have, `made` as long as the first that
/// many have.
struct Manifest {
  static constexpr const char* kFile = "manifest.json";

  DataSetSpec spec;
  bool complete = false;
  std::uint64_t made = 0;  // files, from the first on, that are whole on the storage; spec.files of a complete one
};

/// Is the text one that headrace wrote, even if damaged? It is marked.
bool is_manifest(std::string_view text);
/// Nothing when the text is no manifest, or makes no sense.
std::optional<Manifest> parse_manifest(std::string_view text);
std::string manifest_text(const Manifest& manifest);

/// The one in `folder`. Nothing when there is none, or it is not one of the set that the folder is named after.
std::optional<Manifest> read_manifest(const files::Folder& folder, const DataSetSpec& spec);

/// Written aside, synced, renamed. Throws RunError: when the system refuses, or when something that
/// headrace did not make is in the way.
void write_manifest(const files::Folder& folder, const Manifest& manifest);

/// Removes it if it is headrace's; a stranger stays.
void remove_manifest(const files::Folder& folder);

// Who owns the file at a generated file's path? Names and sizes prove nothing.

class FileProof {
 public:
  /// `folder` is the data set's. Its manifest is read now. A file that is unchanged since it was written, and older
  /// than the manifest, need not be read.
  FileProof(const DataSetLayout& layout, const files::Folder& folder);

  enum class Found {
    absent,
    foreign,  // no proof that headrace made it
    part,     // headrace's, cut short or damaged
    whole,    // headrace's, of the right size
  };
  struct Answer {
    Found found = Found::absent;
    struct stat status {};
  };
  /// `name` in `folder`, one of the data set's folders, is the place of file number `file`.
  Answer look(const files::Folder& folder, const char* name, std::uint64_t file) const;

 private:
  /// Was it on the storage when the manifest was written?
  bool settled(std::uint64_t file) const { return since_ && file < made_; }
  bool untouched(const struct stat& status, std::uint64_t file) const;
  Found judge(const files::Folder& folder, const char* name, std::uint64_t file, const struct stat& status) const;

  const DataSetLayout& layout_;
  std::optional<struct timespec> since_;  // when the manifest was written
  std::uint64_t made_ = 0;                // files that it reports on
};

}  // namespace headrace
