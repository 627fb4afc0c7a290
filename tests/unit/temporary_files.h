// A folder of files with known contents that goes away with its owner.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/record/file_table.h"

namespace headrace::testing {

class TemporaryFiles {
 public:
  TemporaryFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "headrace-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    table_ = FileTable(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), path_);
  }
  ~TemporaryFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFiles(const TemporaryFiles&) = delete;

  /// The byte that is at `offset` of file number `file`.
  static unsigned char byte(std::uint32_t file, std::uint64_t offset) {
    return static_cast<unsigned char>((offset * 31 + offset / 4096 + file * 7) & 0xff);
  }

  /// Writes a file of `size` bytes and puts it in the table.
  std::uint32_t add(std::uint64_t size) {
    const std::uint32_t number = table_.count();
    const std::string name = "f" + std::to_string(number);
    std::string content(size, '\0');
    for (std::uint64_t i = 0; i < size; ++i) content[i] = static_cast<char>(byte(number, i));
    add(name, content);
    return number;
  }
  void add(const std::string& name, const std::string& content) {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
    table_.add(name, content.size());
  }
  std::string path(std::uint32_t file) const { return path_ + "/" + table_.path(file); }
  const FileTable& table() const { return table_; }

  /// True when `data` is what is at `offset` of `file`.
  static bool holds(const unsigned char* data, std::uint32_t file, std::uint64_t offset, std::uint64_t length) {
    for (std::uint64_t i = 0; i < length; ++i)
      if (data[i] != byte(file, offset + i)) return false;
    return true;
  }

 private:
  std::string path_;
  FileTable table_;
};

}  // namespace headrace::testing
