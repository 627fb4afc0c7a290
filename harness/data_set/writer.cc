// Writes one generated file.
#include "harness/data_set/writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "harness/data_set/block_pattern.h"
#include "harness/error.h"
#include "harness/system/unique_fd.h"

namespace headrace {
namespace {

using system::UniqueFd;

/// From here on writes go around the page cache: nothing has to be pushed out of it afterwards, and
/// on virtual machines it is two to three times faster, as no page of memory need be touched first.
/// Smaller files are better gathered by the kernel.
constexpr std::uint64_t kDirectFrom = 64 << 10;  // [B]

std::uint64_t round_up(std::uint64_t size) { return (size + kBlock - 1) / kBlock * kBlock; }

/// Writes all of `length`; direct I/O is given up when this file system refuses it. False: errno
/// says why.
bool write_fully(int fd, const unsigned char* data, std::uint64_t length, std::uint64_t offset) {
  while (length > 0) {
    const ssize_t written = ::pwrite(fd, data, length, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL) {
      const int flags = ::fcntl(fd, F_GETFL);
      if ((flags & O_DIRECT) && ::fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0) continue;
      errno = EINVAL;
    }
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      return false;
    }
    data += written;
    offset += static_cast<std::uint64_t>(written);
    length -= static_cast<std::uint64_t>(written);
  }
  return true;
}

}  // namespace

FileWriter::FileWriter(const DataSetLayout& layout, int root, const std::string& folder,
                       std::atomic<std::uint64_t>& done)
    : layout_(layout), root_(root), folder_(folder), done_(done) {
  void* memory =
      ::mmap(nullptr, kBuffer, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::madvise(memory, kBuffer, MADV_HUGEPAGE);  // fewer segments per direct write
  buffer_ = static_cast<unsigned char*>(memory);
}

FileWriter::~FileWriter() { ::munmap(buffer_, kBuffer); }

bool FileWriter::is_right(int fd, std::uint64_t file, std::uint64_t at, std::uint64_t length) {
  unsigned char expected[kBlock], found[kBlock];
  fill_range(layout_.key(), file, at, expected, length);
  return ::pread(fd, found, length, static_cast<off_t>(at)) == static_cast<ssize_t>(length) &&
         std::memcmp(expected, found, length) == 0;
}

bool FileWriter::is_ours(int fd, std::uint64_t file, std::uint64_t& size) {
  struct stat status;
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  size = static_cast<std::uint64_t>(status.st_size);
  return is_right(fd, file, 0, std::min(kBlock, size));
}

void FileWriter::take_back(std::uint64_t file) {
  const std::string path = layout_.path(file);
  const UniqueFd fd(::openat(root_, path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::uint64_t size = 0;
  if (fd && is_ours(fd.get(), file, size)) ::unlinkat(root_, path.c_str(), 0);
}

void FileWriter::write(std::uint64_t file) {
  const std::string path = layout_.path(file), shown = folder_ + "/" + path;
  const std::uint64_t size = layout_.size(file);
  UniqueFd fd(::openat(root_, path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!fd) throw system_error("create", shown, errno);
  std::uint64_t found = 0;
  if (!is_ours(fd.get(), file, found))
    throw RunError("create " + shown + ": something that headrace did not make is in the way");
  if (found > 0) {
    const std::uint64_t last = (size - 1) / kBlock * kBlock;
    if (found == size && is_right(fd.get(), file, last, size - last)) {
      done_.fetch_add(size, std::memory_order_relaxed);
      return;
    }
    if (::ftruncate(fd.get(), 0) != 0) throw system_error("truncate", shown, errno);
  }
  const bool direct = size >= kDirectFrom;
  if (direct) {
    ::fcntl(fd.get(), F_SETFL,
            ::fcntl(fd.get(), F_GETFL) | O_DIRECT);  // refused: then through the cache
    // One piece on the disk instead of many, where the file system can; the size stays until data
    // is there.
    ::fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size));
  }
  for (std::uint64_t at = 0; at < size; at += kBuffer) {
    const std::uint64_t length = std::min(kBuffer, size - at),
                        whole = direct ? round_up(length) : length;
    fill_range(layout_.key(), file, at, buffer_, whole);
    if (!write_fully(fd.get(), buffer_, whole, at)) throw system_error("write", shown, errno);
    done_.fetch_add(length, std::memory_order_relaxed);
  }
  if (direct && size % kBlock != 0 && ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0)
    throw system_error("truncate", shown, errno);
  // Errors that come only with write-back are told by close on NFS and by syncfs elsewhere.
  if (::close(fd.release()) != 0 && errno != EINTR) throw system_error("close", shown, errno);
}

}  // namespace headrace
