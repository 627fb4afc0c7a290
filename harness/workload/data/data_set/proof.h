// Whose is the file that lies where a generated one belongs? Names and sizes prove nothing.
#pragma once

#include <sys/stat.h>
#include <time.h>

#include <cstdint>
#include <optional>

#include "harness/base/files/folder.h"
#include "harness/workload/data/data_set/layout.h"

namespace headrace {

class FileProof {
 public:
  /// `folder` is the data set's; its manifest is looked at now, for a file that nobody touched
  /// since it was written, after that file was made, need not be read.
  FileProof(const DataSetLayout& layout, const files::Folder& folder);

  enum class Found {
    absent,
    foreign,  // nothing says that headrace made it
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
