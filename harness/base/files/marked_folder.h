// Folders that headrace marked: everything that it writes lies below one of these.
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

/// What a removal did. Nothing is removed that is not proven to be headrace's own.
struct CleanReport {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  /// What was left, and why: "data/x/notes.txt: not made by headrace".
  std::vector<std::string> left;
  /// headrace has nothing there any more: the folder is gone (or was never there), or, where it was
  /// the user's before, is empty.
  bool gone = false;

  void add(const CleanReport& more);
};

/// Removes each entry of `folder` that is `ours`; what else is there is left, `reported` so. The mark, and what is written aside,
/// stay without a word.
CleanReport remove_files_if(const files::Folder& folder,
                            const std::function<bool(const std::string& name, const struct stat& status)>& ours,
                            const std::function<std::string(const std::string& name)>& reported);

/// A folder with a file `.headrace` in it, which says what the folder is for (files/mark.h). Held
/// open.
class MarkedFolder {
 public:
  static constexpr std::string_view kMark = ".headrace";

  /// Makes `path` (parents are made too) or takes one that is empty or already marked with the same
  /// kind. Throws UsageError, which names what is in the way, when it holds something that headrace
  /// did not make, is marked with another kind, is no folder, or is a symbolic link, and when others than root and
  /// this user could have written the folder or its mark (files/trust.h); RunError when the system refuses. Any number
  /// of processes may do so at once.
  static MarkedFolder make(const std::string& path, const std::string& kind);
  /// The same below a folder that is held open.
  static MarkedFolder make(const files::Folder& parent, const std::string& name, const std::string& kind);
  /// The same, and has it alone until this object goes; what writers that were killed left aside is removed. Throws
  /// RunError, which names the process that has it.
  static MarkedFolder make_alone(const std::string& path, const std::string& kind);
  static MarkedFolder make_alone(const files::Folder& parent, const std::string& name, const std::string& kind);
  /// The same of a folder that only this user can enter (mode 0700), in a parent where nobody else can replace it. The
  /// parent is there. Give a name that nobody can guess: random_name() in files/folder.h.
  static MarkedFolder make_private(const std::string& path, const std::string& kind);
  /// The same of a folder that was not there before: `path`, or `path`-2, -3 ..., whichever is
  /// free.
  static MarkedFolder make_next(const std::string& path, const std::string& kind);
  /// Would make() take `path`: is nothing there, or an empty folder, or one marked with this kind? What a writer that was
  /// killed left aside does not count. Throws UsageError where it is no folder, RunError where it cannot be listed.
  static bool is_free_for(const std::string& path, const std::string& kind);
  /// One that is there, marked with any kind; nothing else. Throws UsageError where others than root and this user could
  /// have written the folder or its mark.
  static std::optional<MarkedFolder> find(const std::string& path);
  /// The same; a folder or mark that others could have written counts as unmarked.
  static std::optional<MarkedFolder> find(const files::Folder& parent, const std::string& name);
  /// True when `path` holds headrace's mark, whoever wrote it: a regular file with the right content. For what is only
  /// read.
  static bool is_marked(const std::string& path) { return !kind_of(path).empty(); }
  /// Has this one its mark still?
  bool is_marked() const;
  /// The kind in that mark ("scratch", "run", "data_set"), or "".
  static std::string kind_of(const std::string& path);

  const std::string& kind() const { return kind_; }
  /// Absolute.
  const std::string& path() const { return folder_.path(); }
  const files::Folder& folder() const { return folder_; }

  /// Has it alone until this object goes, and says so in the mark. False: another process has it.
  bool try_hold() const;
  /// "in use by another headrace (pid 12 on node1 since 2026-01-31 12:00:00 UTC)".
  std::string in_use() const;

  struct File {
    std::string_view name, text;
  };
  /// Writes files, each whole or not at all, in place of those that stand here as headrace wrote
  /// them. Throws RunError: when the system refuses, or when somebody else's is in the way.
  void write(std::span<const File> files) const;
  void write(std::string_view name, std::string_view text) const;
  /// Takes away one file that write() wrote, if it is there and nobody changed it.
  void remove_file(const std::string& name) const;
  /// True where write() would take its place: nothing is there, or what write() wrote.
  bool may_write(std::string_view name) const;
  /// Takes away every file that write() wrote and nobody changed.
  void remove_files() const;

  /// Removes the files that write() wrote and nobody changed, then, when nothing else is left, the
  /// mark and the folder, if headrace made that. Whatever else lies there stays and is named.
  /// Throws RunError when the system refuses.
  CleanReport remove() const;

 private:
  MarkedFolder(files::Folder folder, std::string kind) : folder_(std::move(folder)), kind_(std::move(kind)) {}
  static MarkedFolder claim(files::Folder folder, const std::string& kind);
  void hold() const;

  files::Folder folder_;
  std::string kind_;
};

/// Where this user's data for the scratch folder `path` goes: there, or, where others can write an unmarked folder, into a
/// folder "headrace-UID" in it, which they cannot.
std::string own_place(const std::string& path);

/// MarkedFolder::remove() of the folder at `path`. One without a mark is left alone, unless
/// headrace was stopped before it could mark it.
CleanReport remove_marked(const std::string& path);
CleanReport remove_marked(const files::Folder& parent, const std::string& name);

}  // namespace headrace
