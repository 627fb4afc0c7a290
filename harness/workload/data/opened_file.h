// A file or object of a data set, read to inspect its content: unmeasured.
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/system/unique_fd.h"
#include "harness/record/file_table.h"

namespace headrace {

class ObjectStore;

class OpenedFile {
 public:
  /// `advice`: of posix_fadvise, for a file. `store`: of objects.
  OpenedFile(const FileTable& files, std::uint32_t file, int advice, ObjectStore* store);

  /// Up to `length` bytes from `offset` on; 0: it ends there. Nothing can be read: -1, and why() reports.
  std::int64_t read(std::uint64_t offset, unsigned char* to, std::uint64_t length);
  bool is_open() const { return store_ != nullptr || fd_; }
  const std::string& why() const { return why_; }

 private:
  ObjectStore* const store_;
  system::UniqueFd fd_;
  std::string url_, why_;
};

}  // namespace headrace
