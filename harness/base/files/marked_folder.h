// Folders that headrace marked: everything that it writes is below one of these.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/files/folder.h"

namespace headrace {

/// The report of a removal. Only entries that are provably headrace's are removed.
struct CleanReport {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  /// The entries that stay, and why: "data/x/notes.txt: not made by headrace".
  std::vector<std::string> left;
  /// headrace has nothing there any more. The folder is gone (or was never there), or is empty if it was the user's
  /// before.
  bool gone = false;

  void add(const CleanReport& more);
};

/// Removes each entry of `folder` that is `ours`; other entries stay, and `reported` lists them. The mark, and
/// temporary files, stay without a report.
CleanReport remove_files_if(const files::Folder& folder,
                            const std::function<bool(const std::string& name, const struct stat& status)>& ours,
                            const std::function<std::string(const std::string& name)>& reported);

/// A folder with a file `.headrace` in it, which has the folder's purpose (files/mark.h). Kept open.
class MarkedFolder {
 public:
  static constexpr std::string_view kMark = ".headrace";

  /// Makes `path` (parents are made too) or takes one that is empty or already marked with the same kind. Throws
  /// UsageError, which names the obstacle. It is a foreign entry, another kind's mark, no folder, or a symbolic link.
  /// The same when others than root and this user could have written the folder or its mark (files/trust.h). Throws
  /// RunError when the system refuses. Any number of processes may call it at once.
  static MarkedFolder make(const std::string& path, const std::string& kind);
  /// The same below a folder that is kept open.
  static MarkedFolder make(const files::Folder& parent, const std::string& name, const std::string& kind);
  /// The same, and locks it until this object is destroyed; temporary files of killed writers are removed. Throws
  /// RunError, which names the process that has locked it.
  static MarkedFolder make_alone(const std::string& path, const std::string& kind);
  static MarkedFolder make_alone(const files::Folder& parent, const std::string& name, const std::string& kind);
  /// The same for a folder that only this user can enter (mode 0700). No other user can replace it in its parent, which
  /// exists. Give a name that cannot be guessed: random_name() in files/folder.h.
  static MarkedFolder make_private(const std::string& path, const std::string& kind);
  /// The same of a folder that was not there before: `path`, or `path`-2, -3 ..., whichever is
  /// free.
  static MarkedFolder make_next(const std::string& path, const std::string& kind);
  /// Would make() take `path`: is nothing there, or an empty folder, or one marked with this kind? Temporary files of a
  /// killed writer do not count. Throws UsageError where it is no folder, RunError where it cannot be listed.
  static bool is_free_for(const std::string& path, const std::string& kind);
  /// One that is there, marked with any kind; nothing else. Throws UsageError where others than root and this user could
  /// have written the folder or its mark.
  static std::optional<MarkedFolder> find(const std::string& path);
  /// The same; a folder or mark that others could have written counts as unmarked.
  static std::optional<MarkedFolder> find(const files::Folder& parent, const std::string& name);
  /// True when `path` holds headrace's mark, regardless of its owner: a regular file with the right content. For
  /// reading only.
  static bool is_marked(const std::string& path) { return !kind_of(path).empty(); }
  /// Has this one its mark still?
  bool is_marked() const;
  /// The kind in that mark ("scratch", "run", "data_set"), or "".
  static std::string kind_of(const std::string& path);

  const std::string& kind() const { return kind_; }
  /// Absolute.
  const std::string& path() const { return folder_.path(); }
  const files::Folder& folder() const { return folder_; }

  /// Locks it until this object is destroyed, and notes that in the mark. False: another process has locked it.
  bool try_hold() const;
  /// "in use by another headrace (pid 12 on node1 since 2026-01-31 12:00:00 UTC)".
  std::string in_use() const;

  struct File {
    std::string_view name, text;
  };
  /// Writes files, each whole or not at all, in place of those that headrace wrote. Throws RunError: when the system
  /// refuses, or when another program's file is in the way.
  void write(std::span<const File> files) const;
  void write(std::string_view name, std::string_view text) const;
  /// Removes one file that write() wrote, if it exists and is unchanged.
  void remove_file(const std::string& name) const;
  /// True where write() may write: the name is free, or its file is one that write() wrote.
  bool may_write(std::string_view name) const;
  /// Removes every unchanged file that write() wrote.
  void remove_files() const;

  /// Removes the unchanged files of write(). When nothing else is left, it removes the mark, and the folder if headrace
  /// made it. Other entries stay and are named. Throws RunError when the system refuses.
  CleanReport remove() const;

 private:
  MarkedFolder(files::Folder folder, std::string kind) : folder_(std::move(folder)), kind_(std::move(kind)) {}
  static MarkedFolder claim(files::Folder folder, const std::string& kind);
  void hold() const;

  files::Folder folder_;
  std::string kind_;
};

/// The place of this user's data for the scratch folder `path`. It is `path`, or "headrace-UID" in it where others can
/// write an unmarked folder.
std::string own_place(const std::string& path);

/// MarkedFolder::remove() of the folder at `path`. One without a mark is left alone, unless
/// headrace was stopped before it could mark it.
CleanReport remove_marked(const std::string& path);
CleanReport remove_marked(const files::Folder& parent, const std::string& name);

}  // namespace headrace
