// Whole files by openat, pread, close.
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>

#include "harness/backends/open_files.h"
#include "harness/backends/posix/posix_engine.h"
#include "harness/record/recorder.h"

namespace headrace {
namespace {

/// Without a page cache its daemon also gets requests behind a file's end; elsewhere the kernel knows the end.
bool is_fuse(int folder) {
  struct statfs seen {};
  return ::fstatfs(folder, &seen) == 0 && seen.f_type == FUSE_SUPER_MAGIC;
}

class PosixWholeFiles final : public WholeFileReader {
 public:
  PosixWholeFiles(const FileTable& files, const ReaderOptions& options, Notes& notes)
      : files_(files),
        block_(whole_file_block(files, options)),
        flags_(kReadFlags | (options.direct ? O_DIRECT : 0)),
        to_end_(!options.direct && is_fuse(files.root_fd())),
        buffers_(1, block_, options.huge_pages) {
    require_direct(files, options);
    notes.add_pages(buffers_, options.huge_pages);
  }

  void attach() override { own_descriptors(); }

  std::span<const FileCompletion> exchange(std::span<const std::uint32_t> files, unsigned) override {
    if (files.empty()) return {};
    read_whole(files.front());
    return {&done_, 1};
  }
  unsigned free_slots() const override { return 1; }
  const unsigned char* data(std::uint32_t) const override { return buffers_[0]; }

 private:
  void read_whole(std::uint32_t file) noexcept {
    done_ = FileCompletion{.file = file, .begin_ns = now_ns()};
    const int fd = open_for_reading(files_.root_fd(), files_.path(file), flags_);
    if (fd < 0) fail(errno, 1);
    done_.opened_ns = now_ns();
    if (fd >= 0) read_all(fd, files_.size(file));
    done_.read_ns = now_ns();
    if (fd >= 0 && ::close(fd) != 0 && done_.error == 0) fail(errno, 3);
    done_.end_ns = now_ns();
  }

  void read_all(int fd, std::uint64_t size) noexcept {
    while (done_.bytes < size) {
      // A direct read of a file's last block asks for whole pages and gets the bytes up to the end.
      const std::uint64_t rest = (flags_ & O_DIRECT) ? round_up(size - done_.bytes, kPage) : size - done_.bytes;
      const ssize_t n = ::pread(fd, buffers_[0], std::min(block_, rest), static_cast<off_t>(done_.bytes));
      if (n > 0) {
        done_.bytes += static_cast<std::uint64_t>(n);
        ++done_.requests;
      } else if (n == 0 || errno != EINTR) {
        return fail(n == 0 ? OperationError::kShortRead : errno, 2);
      }
    }
    // Reading a file to its end takes one more read, which gets nothing.
    unsigned char none = 0;
    if (to_end_ && ::pread(fd, &none, 1, static_cast<off_t>(size)) < 0 && errno != EINTR) fail(errno, 2);
  }

  void fail(int code, std::uint8_t part) noexcept {
    done_.error = code;
    done_.failed_part = part;
    done_.failed_offset = done_.bytes;
  }

  const FileTable& files_;
  const std::uint64_t block_;
  const int flags_;
  const bool to_end_;
  Buffers buffers_;
  FileCompletion done_;
};

}  // namespace

std::unique_ptr<WholeFileReader> make_posix_whole_files(const FileTable& files, const ReaderOptions& options,
                                                        Notes& notes) {
  return std::make_unique<PosixWholeFiles>(files, options, notes);
}

}  // namespace headrace
