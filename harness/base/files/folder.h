// A folder that is kept open by its descriptor. Every file and folder that headrace makes, replaces or removes goes
// through one of these. Names lead nowhere else, even if parts of the path are replaced.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/files/open_beneath.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::files {

using system::UniqueFd;

/// The same file or folder, under any name.
inline bool same(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

class Folder {
 public:
  Folder() = default;
  Folder(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  /// The folder itself, never what a link in its place points at. Links on the way to it are the user's. Empty when it
  /// cannot be opened; errno says why.
  static Folder at(const std::string& path) noexcept;
  /// One below this one, at "a" or "a/b". Empty when it cannot be opened; errno says why.
  Folder inner(const std::string& name) const noexcept;
  /// The same folder once more; of a lock, both hold the same.
  Folder again() const;

  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }
  std::string path_of(std::string_view name) const { return path_ + "/" + std::string(name); }
  UniqueFd release() noexcept { return std::move(fd_); }

  struct stat status() const;
  /// Sorted, without "." and "..". Throws RunError.
  std::vector<std::string> entries() const;
  /// The entry `name`, links not followed; nothing where there is none. Throws RunError where the storage does not answer.
  std::optional<struct stat> look(const std::string& name) const;
  /// A regular file's text up to `most` bytes; "" when there is none. Throws RunError when it cannot be opened or read: an
  /// unreadable file is not a missing one.
  std::string read(const std::string& name, std::size_t most = 64 << 10) const;

  /// Does its path still lead here?
  bool in_place() const noexcept;
  /// Throws RunError, which names the entry that is there instead.
  void require_in_place() const;

  /// False: another process has it. File systems without locks do without.
  bool lock_shared() const noexcept;
  bool lock_alone() const noexcept;

  /// Makes the folder `name`, or takes the one that is there. Throws RunError when something else
  /// is in the way.
  Folder make(const std::string& name) const;
  /// Makes a new file, open for writing. -1 when something of that name is there, or the system
  /// refuses; errno says why.
  UniqueFd create(const char* name, int flags = 0) const noexcept;
  /// Makes a new file that has no name and goes when it is closed. Empty: the system refuses; errno says why.
  UniqueFd create_nameless(mode_t mode) const;
  /// Opens one that create() made for writing, in another thread, say. -1: another entry is there (EEXIST), or the
  /// system refuses.
  UniqueFd open_made(const char* name, int flags = 0) const noexcept;
  /// Writes aside, to disk, and renames: a reader finds the file whole or not at all. A file of that name is replaced:
  /// the caller has made sure that it may be. Throws RunError; then nothing is left.
  void put(const std::string& name, std::string_view text) const;
  /// The same, but false when the name exists already, or another process locked and removed the folder.
  bool put_new(const std::string& name, std::string_view text) const;
  /// Renames a file of this folder, in place of one that has the new name. False: errno.
  bool rename(const char* from, const char* to) const noexcept;
  /// Renames a whole file that create() made, open as `fd`; nothing may have that name. It is the user's from then on,
  /// without a mark. False: errno, EEXIST where something has the name.
  bool publish(const char* from, const char* to, int fd) const noexcept;
  /// Takes the mark off a file that publish() gave its name before the process was killed. Throws RunError.
  void hand_over(const std::string& name) const;
  /// Removes the very file that `proven` reports on; false when it is gone or another has replaced it. Throws RunError
  /// when the system refuses.
  bool remove(const std::string& name, const struct stat& proven) const;
  /// Removes an empty folder that headrace made; false when it is neither.
  bool remove_folder(const std::string& name) const;
  /// Removes this folder. False: it is not empty, or not in its place any more; throws RunError when the system
  /// refuses.
  bool remove_itself() const;
  /// Is it something of headrace's that a put() which was cut short left?
  bool is_aside(const std::string& name) const;
  /// Puts the names on disk.
  bool sync() const noexcept;

 private:
  std::string write_aside(const std::string& name, std::string_view text) const;

  UniqueFd fd_;
  std::string path_;
};

/// Is it a name that NFS or FUSE give a removed file until it is closed everywhere?
bool is_kept_open(std::string_view name) noexcept;

/// "headrace-agent-0123456789abcdef0123456789abcdef": a name with 128 random bits, for folders where others can make some,
/// too. Throws RunError.
std::string random_name(const std::string& prefix);

/// Makes the folders on the way to `path`, as `mkdir -p` does: plain ones, which stay. Throws
/// RunError.
void make_parents(const std::string& path);

}  // namespace headrace::files
