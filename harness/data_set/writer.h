// Writes one generated file, large ones around the page cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "harness/data_set/layout.h"

namespace headrace {

/// One per thread: owns the buffer.
class FileWriter {
 public:
  static constexpr std::uint64_t kBuffer = 4 << 20;  // [B]

  /// Adds what is written (or found to be right) to `done` [B].
  FileWriter(const DataSetLayout& layout, int root, const std::string& folder,
             std::atomic<std::uint64_t>& done);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;

  /// Writes file number `file`, unless it is there already and its first and last block are right.
  /// Throws RunError: when the system refuses, or when what lies there is not headrace's.
  void write(std::uint64_t file);
  /// Takes file number `file` away again, if what lies there is headrace's.
  void take_back(std::uint64_t file);

 private:
  bool is_ours(int fd, std::uint64_t file, std::uint64_t& size);
  bool is_right(int fd, std::uint64_t file, std::uint64_t at, std::uint64_t length);

  const DataSetLayout& layout_;
  int root_;
  const std::string& folder_;
  std::atomic<std::uint64_t>& done_;
  unsigned char* buffer_;
};

}  // namespace headrace
