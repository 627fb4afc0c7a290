// Files that the user names (-o FILE), outside of headrace's folders.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/system/unique_fd.h"

namespace headrace::files {

/// Who may read a file.
enum class Readers {
  usual,  // by the umask, or as before
  owner   // mode 0600, regardless of the umask and of the file's mode before
};

/// Writes `text` to `path`: a regular file is replaced whole or not at all. Into a pipe or a character device it is
/// written. A symbolic link is followed. Throws RunError: when the system refuses, or when it is a block device, a link
/// to nothing, or a folder.
void write_output(const std::string& path, std::string_view text, Readers readers = Readers::usual);

/// Before anything runs: throws UsageError where `path` is "-", or a file that must stay. That is `input`, a file in a
/// folder of headrace's, or one without `sign` in its first 4 KiB. Earlier outputs have that.
void check_output(const std::string& path, const std::string& input, std::string_view sign);

/// A file that grows by whole lines, which readers see at once. check_output() comes first, with `header` as its sign.
class GrowingOutput {
 public:
  /// Opens `path` at its end; a new or empty file gets `header`. Throws RunError.
  GrowingOutput(const std::string& path, std::string_view header);
  void add(std::string_view lines);  // Throws RunError

 private:
  std::string path_;
  system::UniqueFd fd_;
};

}  // namespace headrace::files
