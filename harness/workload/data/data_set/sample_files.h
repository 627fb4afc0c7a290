// Generated files with samples as a loader decodes them: one in each file, or tar shards as WebDataset reads them. Each
// sample has its owner and place in a comment of its format, and the CRC of its other bytes. A shard has them in a
// comment of its first header.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/backends/decode/sample_maker.h"
#include "harness/workload/data/data_set/layout.h"

namespace headrace {

/// A sample's bytes in its file [B].
struct SamplePlace {
  std::uint64_t offset = 0, size = 0;
};

/// The content of one file of such a set; follows from the layout alone.
class SampleFile {
 public:
  SampleFile(const DataSetLayout& layout, std::uint64_t file);
  std::uint64_t count() const { return count_; }
  SamplePlace place(std::uint64_t sample) const;
  /// The bytes before that sample, after the one before it; of count(): up to the end.
  std::string before(std::uint64_t sample) const;
  /// Is what the file begins with (kFirst bytes or all of it) this one's? Then it is headrace's.
  bool is_begin(std::span<const unsigned char> first) const;
  static constexpr std::uint64_t kFirst = 4096;
  /// The fault of that sample; "": none.
  std::string wrong(std::uint64_t sample, std::span<const unsigned char> bytes) const;
  /// The sample's bytes. Throws RunError.
  std::vector<unsigned char> make(std::uint64_t sample, const decode::SampleMaker& maker) const;

 private:
  bool in_tar() const;
  std::uint64_t spread(std::uint64_t pair) const;

  const DataSetLayout& layout_;
  const std::uint64_t file_, size_;
  std::uint64_t count_ = 1, slot_ = 0;  // the latter: that a sample of a shard has on average, with its headers [B]
};

/// The bytes of one file from its first to its last.
class SampleStream {
 public:
  SampleStream(const DataSetLayout& layout, const decode::SampleMaker& maker, std::uint64_t file)
      : file_(layout, file), maker_(maker) {}
  /// The next `length`. Throws RunError.
  void fill(unsigned char* out, std::uint64_t length);

 private:
  const SampleFile file_;
  const decode::SampleMaker& maker_;
  std::uint64_t next_ = 0;  // sample
  std::vector<unsigned char> ready_;
  std::size_t used_ = 0;  // of ready_
};

}  // namespace headrace
