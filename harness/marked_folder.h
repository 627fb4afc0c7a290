// Folders that headrace made and marked: everything that it writes lies below one of these.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A folder with a file `.headrace` in it, which says what the folder is for:
/// {"kind": "headrace.scratch", "schema": 1, "version": "0.1.0"}.
class MarkedFolder {
 public:
  static constexpr std::string_view kMark = ".headrace";

  /// Makes `path` (parents are made too) or takes one that is empty or already marked with the same kind. Throws
  /// UsageError, which names what is in the way, when it holds something that headrace did not make, is marked with
  /// another kind, is no folder, or is a symbolic link; RunError when the system refuses.
  static MarkedFolder make(const std::string& path, const std::string& kind);
  /// True when `path` holds headrace's mark: a regular file with the right content.
  static bool is_marked(const std::string& path) { return !kind_of(path).empty(); }
  /// The kind in the mark ("scratch", "run", "data_set"), or "".
  static std::string kind_of(const std::string& path);

  /// Absolute.
  const std::string& path() const { return path_; }

 private:
  explicit MarkedFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// What a removal did. Nothing is removed that is not surely headrace's own.
struct CleanReport {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  /// What was left, and why: "data/x/notes.txt: not made by headrace".
  std::vector<std::string> left;
  /// The folder itself is gone (or was never there).
  bool gone = false;
};

/// Removes from the marked folder `path` the regular files named in `own` (plain names, no folders), then, when
/// nothing else is left, the mark and the folder itself. Never follows a symbolic link; whatever else lies there stays
/// and is named. A folder without a mark is left alone. Throws RunError when the system refuses.
CleanReport remove_marked(const std::string& path, std::span<const std::string_view> own);

}  // namespace headrace
