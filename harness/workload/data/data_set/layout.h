// Which files a generated data set has: names and sizes follow from the specification alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/workload/data/data_set.h"

namespace headrace {

class DataSetLayout {
 public:
  explicit DataSetLayout(const DataSetSpec& spec);

  std::uint64_t files() const { return spec_.files; }
  std::uint64_t folders() const { return (spec_.files + spec_.files_per_folder - 1) / spec_.files_per_folder; }
  /// "d000"
  std::string folder(std::uint64_t number) const;
  std::uint64_t folder_of(std::uint64_t file) const { return file / spec_.files_per_folder; }
  /// "f000003.bin"; "f000003.jpg" and such where files hold samples
  std::string name(std::uint64_t file) const;
  /// "d000/f000003.bin"
  std::string path(std::uint64_t file) const;
  /// The other way round; nothing for names that no folder and no file of this set has.
  std::optional<std::uint64_t> folder_number(std::string_view folder) const;
  std::optional<std::uint64_t> file_number(std::string_view name) const;
  /// Normal around the mean, cut at 3 standard deviations and at one block, or the mean if smaller [B].
  std::uint64_t size(std::uint64_t file) const;
  std::uint64_t total_bytes() const;
  /// The key in the blocks' labels.
  std::uint64_t key() const { return key_; }
  const DataSetSpec& spec() const { return spec_; }

 private:
  DataSetSpec spec_;
  std::string ending_;  // of files' names
  std::uint64_t key_;
};

}  // namespace headrace
