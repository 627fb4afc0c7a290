// A file as Python's open(path, "rb") reads it: the same system calls with the same sizes.
#pragma once

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/backends/open_files.h"

namespace headrace {

/// A request beyond the buffer is read in whole buffers past it, the rest through it. A buffer holds st_blksize bytes.
/// CPython 3.8 to 3.13 does the same (io.BufferedReader; traced on 3.11).
class BufferedFile {
 public:
  /// Room for the buffer of any file of the table, which are on one file system.
  explicit BufferedFile(const FileTable& files) : files_(files), buffer_(kSmallest) {
    struct stat first {};
    if (files.count() > 0 && ::fstatat(files.root_fd(), files.path(0), &first, 0) == 0)
      buffer_.resize(std::clamp<std::uint64_t>(static_cast<std::uint64_t>(first.st_blksize), kSmallest, kLargest));
  }
  ~BufferedFile() { close(); }
  BufferedFile(const BufferedFile&) = delete;
  BufferedFile& operator=(const BufferedFile&) = delete;

  /// 0 or an errno.
  int open(std::uint32_t file) noexcept {
    fd_ = open_for_reading(files_.root_fd(), files_.path(file), kReadFlags);
    if (fd_ < 0) return errno;
    struct stat status {};
    termios terminal{};
    ::fstat(fd_, &status);
    (void)::ioctl(fd_, TCGETS, &terminal);  // is it a terminal?
    ::lseek(fd_, 0, SEEK_CUR);
    const auto block = static_cast<std::uint64_t>(status.st_blksize);
    size_ = std::min<std::uint64_t>(block > 1 ? block : kSmallest, buffer_.size());
    at_ = filled_ = 0;
    return 0;
  }
  bool is_open() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  /// 0 or an errno.
  int close() noexcept {
    const int failed = fd_ >= 0 && ::close(fd_) != 0 ? errno : 0;
    fd_ = -1;
    return failed;
  }

  /// `n` bytes, or fewer at the file's end, or -errno.
  std::int64_t read(unsigned char* to, std::uint64_t n) noexcept {
    std::uint64_t got = take(to, n);
    while (n - got >= size_) {
      const std::int64_t more = fetch(to + got, (n - got) / size_ * size_);
      if (more <= 0) return more < 0 ? more : static_cast<std::int64_t>(got);
      got += static_cast<std::uint64_t>(more);
    }
    while (got < n) {
      const std::int64_t more = fetch(buffer_.data(), size_);
      if (more <= 0) return more < 0 ? more : static_cast<std::int64_t>(got);
      at_ = 0;
      filled_ = static_cast<std::uint64_t>(more);
      got += take(to + got, n - got);
    }
    return static_cast<std::int64_t>(got);
  }
  /// As ::lseek(); the buffer is dropped.
  void seek(std::int64_t offset, int whence) noexcept {
    ::lseek(fd_, offset, whence);
    at_ = filled_ = 0;
  }
  /// Everything from the file's position, as read() without a length does. At most `most` bytes are kept, and one more
  /// call finds the end. Bytes, or -errno.
  std::int64_t read_rest(unsigned char* to, std::uint64_t most) noexcept {
    const std::int64_t got = fetch(to, most);
    if (got < 0) return got;
    unsigned char none = 0;
    const std::int64_t end = fetch(&none, 1);
    return end < 0 ? end : got;
  }
  /// Back to the begin of the buffer, which is still there.
  void rewind() noexcept { at_ = 0; }
  std::uint32_t requests() const noexcept { return requests_; }
  void count_anew() noexcept { requests_ = 0; }

 private:
  static constexpr std::uint64_t kSmallest = 8192, kLargest = 8 << 20;

  std::uint64_t take(unsigned char* to, std::uint64_t n) noexcept {
    const std::uint64_t here = std::min(n, filled_ - at_);
    std::memcpy(to, buffer_.data() + at_, here);
    at_ += here;
    return here;
  }
  std::int64_t fetch(unsigned char* to, std::uint64_t n) noexcept {
    for (;;) {
      const ssize_t got = ::read(fd_, to, n);
      ++requests_;
      if (got >= 0) return got;
      if (errno != EINTR) return -errno;
    }
  }

  const FileTable& files_;
  std::vector<unsigned char> buffer_;
  int fd_ = -1;
  std::uint64_t size_ = kSmallest;  // of the buffer, for the open file
  std::uint64_t at_ = 0, filled_ = 0;
  std::uint32_t requests_ = 0;
};

}  // namespace headrace
