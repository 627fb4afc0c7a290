// Writes one generated file, large ones around the page cache.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/workload/data/data_set/manifest.h"
#include "harness/workload/data/data_set/sample_files.h"

namespace headrace {

using system::UniqueFd;

/// One per thread: owns the buffer.
class FileWriter {
 public:
  static constexpr std::uint64_t kBuffer = 4 << 20;  // [B]

  /// Below `root`, the data set's folder. Adds the bytes that are written (or found to be right) to `done`. `maker`: of
  /// the samples that files hold; nullptr: they hold blocks. A file under way is given up when `stop` returns true.
  FileWriter(const DataSetLayout& layout, const FileProof& proof, const files::Folder& root,
             std::atomic<std::uint64_t>& done, const std::function<bool()>& stop, const decode::SampleMaker* maker);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;

  /// Makes file number `file`, unless it is there already and its first and last block are right. Nothing is written
  /// into a file that this writer did not make. Throws RunError: when the system refuses, or when a file there is not
  /// headrace's. False: it was given up, and nothing of it is left.
  bool write(std::uint64_t file);
  /// Removes this writer's files.
  void take_back();

 private:
  /// The folder of file number `file`, kept open.
  const files::Folder& folder_of(std::uint64_t file);
  bool fill(UniqueFd fd, const std::string& shown, std::uint64_t file);

  const DataSetLayout& layout_;
  const FileProof& proof_;
  const files::Folder& root_;
  files::Folder folder_;
  std::uint64_t folder_number_ = 0;
  std::vector<std::uint64_t> made_;
  std::atomic<std::uint64_t>& done_;
  const std::function<bool()>& stop_;
  const decode::SampleMaker* const maker_;
  unsigned char* buffer_;
};

}  // namespace headrace
