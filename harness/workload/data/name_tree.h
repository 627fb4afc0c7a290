// A tree of folders for files that are made, renamed and removed again. It is marked, below the scratch folder, locked
// by one process, and removed with it.
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/files/marked_folder.h"
#include "harness/record/file_table.h"
#include "harness/record/params.h"

namespace headrace {

/// `depth` levels of folders, `width` in each folder, files in those of the last level only.
struct NameTreeShape {
  unsigned depth = 1;
  unsigned width = 10;
  std::uint64_t files_per_folder = 1000;

  static constexpr std::uint64_t kMostFolders = 1'000'000, kMostFiles = 50'000'000;

  /// Declares `depth`, `width` and `files_per_folder`.
  static NameTreeShape declare(Params& params);
  std::uint64_t leaves() const;   // width ^ depth; saturates above kMostFolders
  std::uint64_t folders() const;  // of all levels
  std::uint64_t files() const { return leaves() * files_per_folder; }
  /// The rough size of the names and attributes [B].
  std::uint64_t disk_bytes() const { return folders() * 4096 + files() * 512; }
};

class NameTree {
 public:
  /// Makes the folders below `scratch`/metadata; the rest of a killed run is removed first. Throws RunError when
  /// another process holds them or the system refuses.
  NameTree(const NameTreeShape& shape, const files::Folder& scratch);
  /// Removes every file and folder of the tree; entries that cannot be removed stay for `clean`.
  ~NameTree();
  NameTree(const NameTree&) = delete;
  NameTree& operator=(const NameTree&) = delete;

  /// Files that may be, "d000/d003/f00000042", in order of their folders; sizes are 0. None is
  /// made here.
  const FileTable& files() const { return files_; }
  /// Without the root.
  const FileTable& folders() const { return folders_; }
  /// A file's other name differs from the first in this character: "r00000042".
  static constexpr char kFile = 'f', kRenamed = 'r';

  /// Throws RunError, which names it, when a folder of the tree is not in its place. Untimed, before
  /// files are made, renamed or removed there by their names.
  void require_in_place() const;
  /// Makes an empty file. False: errno; `made` shows whether it is there all the same.
  bool create(const char* path, bool& made) const noexcept { return files::create_empty(files_.root_fd(), path, made); }
  bool rename(const char* from, const char* to) const noexcept {
    return files::rename_within(files_.root_fd(), from, to);
  }
  bool remove(const char* path) const noexcept { return files::remove_name(files_.root_fd(), path); }

 private:
  void make(const NameTreeShape& shape);

  MarkedFolder marked_;
  FileTable files_, folders_;
};

/// Removes the rest of a killed run in `scratch`/metadata, unless a living one has locked it. Other entries stay and
/// are named.
CleanReport remove_left_over_names(const files::Folder& scratch);

}  // namespace headrace
