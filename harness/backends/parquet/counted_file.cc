#include "harness/backends/parquet/counted_file.h"

#include <arrow/buffer.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace headrace::parquet_files {

arrow::Result<std::shared_ptr<CountedFile>> CountedFile::open(int root_fd, const char* path, std::int64_t size,
                                                              int& code) {
  const int fd = ::openat(root_fd, path, O_RDONLY | O_CLOEXEC);
  code = fd < 0 ? errno : 0;
  if (fd < 0) return arrow::Status::IOError("open");
  return std::shared_ptr<CountedFile>(new CountedFile(fd, size));
}

CountedFile::~CountedFile() {
  if (fd_ >= 0) ::close(fd_);
}

arrow::Status CountedFile::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  return arrow::Status::OK();
}

arrow::Status CountedFile::Seek(std::int64_t position) {
  position_ = position;
  return arrow::Status::OK();
}

arrow::Result<std::int64_t> CountedFile::Read(std::int64_t length, void* out) {
  ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(position_, length, out));
  position_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> CountedFile::Read(std::int64_t length) {
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> buffer, ReadAt(position_, length));
  position_ += buffer->size();
  return buffer;
}

arrow::Result<std::int64_t> CountedFile::ReadAt(std::int64_t at, std::int64_t length, void* out) {
  if (code_ == 0) at_ = static_cast<std::uint64_t>(at);
  const std::int64_t wanted = std::clamp<std::int64_t>(size_ - at, 0, length);
  std::int64_t got = 0;
  while (got < wanted) {
    const ssize_t n = ::pread(fd_, static_cast<char*>(out) + got, static_cast<std::size_t>(wanted - got), at + got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      code_ = errno;
      return arrow::Status::IOError("read");
    }
    if (n == 0) break;  // the file is shorter by now: Arrow reports it
    got += n;
  }
  bytes_ += static_cast<std::uint64_t>(got);
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> CountedFile::ReadAt(std::int64_t at, std::int64_t length) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(length));
  ARROW_ASSIGN_OR_RAISE(const std::int64_t got, ReadAt(at, length, buffer->mutable_data()));
  ARROW_RETURN_NOT_OK(buffer->Resize(got));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

}  // namespace headrace::parquet_files
