// Opening files for reading, the same way in every engine.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <span>
#include <vector>

#include "harness/backends/buffers.h"
#include "harness/backends/file_io.h"
#include "harness/base/error.h"
#include "harness/base/system/direct_alignment.h"
#include "harness/base/system/unique_fd.h"

namespace headrace {

/// Reading is to change nothing, so access times are left alone where the owner of the file allows it. A file that was
/// replaced by a symbolic link is not read.
inline constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NOATIME | O_NOFOLLOW;

/// A descriptor, or -1 with errno.
inline int open_for_reading(int root_fd, const char* path, int flags) noexcept {
  int fd;
  do {
    fd = ::openat(root_fd, path, flags);
    if (fd < 0 && errno == EPERM && (flags & O_NOATIME)) {
      flags &= ~O_NOATIME;  // not our file
      errno = EINTR;
    }
  } while (fd < 0 && errno == EINTR);
  return fd;
}

/// Throws when the open file or folder is on a file system that keeps everything in memory. Newer
/// kernels accept direct I/O there, and read from memory all the same.
inline void require_storage(int fd, const std::string& path) {
  constexpr unsigned long kTmpfs = 0x01021994, kRamfs = 0x858458f6, kHugetlbfs = 0x958458f6;
  struct stat what;
  struct statfs system;
  if (::fstat(fd, &what) != 0 || ::fstatfs(fd, &system) != 0) return;
  if (S_ISBLK(what.st_mode)) return;  // only its name is kept there
  const auto type = static_cast<unsigned long>(system.f_type);
  if (type == kTmpfs || type == kRamfs || type == kHugetlbfs)
    throw Unsupported("direct I/O needs storage: " + path + " is kept in memory (tmpfs)");
}

/// Throws when this storage does not accept direct I/O of `multiple` bytes, to which files' ends are rounded, too.
inline void require_multiple(int fd, const std::string& path, std::uint64_t multiple) {
  const std::uint64_t wanted = system::direct_alignment(fd);
  if (wanted <= kPage || multiple % wanted == 0) return;
  throw RunError(
      fmt::format("{}: direct I/O there takes multiples of {} bytes, the size of its sectors, and {} bytes were asked "
                  "for. Read through the page cache (direct: false), or use larger blocks",
                  path, wanted, multiple));
}

/// Throws the error of a failed open: for direct I/O, EINVAL means that this file system has none.
[[noreturn]] inline void throw_open_error(const std::string& operation, const std::string& path, bool direct,
                                          int code) {
  if (direct && code == EINVAL)
    throw Unsupported("direct I/O is refused here: " + std::string(system_error(operation, path, code).what()));
  throw system_error(operation, path, code);
}

/// The largest single read of whole files: a buffer need not be larger than the largest file.
inline std::uint64_t whole_file_block(const FileTable& files, const ReaderOptions& options) {
  const std::uint64_t largest = round_up(files.largest() ? files.largest() : 1, kPage);
  return options.block_size < largest ? options.block_size : largest;
}

/// Before whole files are read directly: the first one is looked at.
inline void require_direct(const FileTable& files, const ReaderOptions& options) {
  if (!options.direct || files.count() == 0) return;
  const int fd = open_for_reading(files.root_fd(), files.path(0), kReadFlags);
  if (fd < 0) return;  // reading reports why
  const system::UniqueFd closes(fd);
  require_multiple(fd, files.full_path(0), kPage);
}

/// Files that stay open while a reader lives.
class OpenFiles {
 public:
  /// Throws RunError naming the file that could not be opened.
  OpenFiles(const FileTable& files, std::span<const std::uint32_t> selected, const ReaderOptions& options) {
    fds_.reserve(selected.size());
    for (const std::uint32_t file : selected) {
      const int fd = open_for_reading(files.root_fd(), files.path(file), kReadFlags | (options.direct ? O_DIRECT : 0));
      if (fd < 0) {
        const int code = errno;
        close_all();
        throw_open_error("open", files.full_path(file), options.direct, code);
      }
      fds_.push_back(fd);
      if (options.direct && fds_.size() == 1) check_storage(files, file, options.block_size);
      if (options.advice == Advice::sequential) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
      if (options.advice == Advice::random) ::posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
    }
  }
  ~OpenFiles() { close_all(); }
  OpenFiles(const OpenFiles&) = delete;
  OpenFiles& operator=(const OpenFiles&) = delete;

  int operator[](std::uint32_t position) const noexcept { return fds_[position]; }
  const std::vector<int>& all() const noexcept { return fds_; }

 private:
  void check_storage(const FileTable& files, std::uint32_t file, std::uint64_t block) {
    try {
      require_storage(fds_.front(), files.full_path(file));
      require_multiple(fds_.front(), files.full_path(file), files.is_device() ? block : kPage);
    } catch (...) {
      close_all();
      throw;
    }
  }
  void close_all() noexcept {
    for (const int fd : fds_) ::close(fd);
  }
  std::vector<int> fds_;
};

}  // namespace headrace
