// A file as Arrow reads it, which counts reads and keeps the errno of failed ones.
#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace headrace::parquet_files {

/// Several threads may read: Arrow's own, of what it reads ahead.
class CountedFile final : public arrow::io::RandomAccessFile {
 public:
  /// `size`: as it was when the data set was opened; missing bytes are a short read.
  static arrow::Result<std::shared_ptr<CountedFile>> open(int root_fd, const char* path, std::int64_t size, int& code);
  ~CountedFile() override;

  arrow::Status Close() override;
  bool closed() const override { return fd_ < 0; }
  arrow::Result<std::int64_t> Report() const override { return position_; }
  arrow::Status Seek(std::int64_t position) override;
  arrow::Result<std::int64_t> GetSize() override { return size_; }
  arrow::Result<std::int64_t> Read(std::int64_t length, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t length) override;
  arrow::Result<std::int64_t> ReadAt(std::int64_t at, std::int64_t length, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(std::int64_t at, std::int64_t length) override;
  using RandomAccessFile::ReadAt;

  std::uint64_t bytes() const noexcept { return bytes_.load(); }
  /// The error of a read that failed; 0: none did.
  int code() const noexcept { return code_.load(); }
  /// Where the read began that failed, or else the last one.
  std::uint64_t at() const noexcept { return at_.load(); }

 private:
  CountedFile(int fd, std::int64_t size) : fd_(fd), size_(size) {}

  int fd_;
  const std::int64_t size_;
  std::int64_t position_ = 0;
  std::atomic<std::uint64_t> bytes_{0}, at_{0};
  std::atomic<int> code_{0};
};

}  // namespace headrace::parquet_files
