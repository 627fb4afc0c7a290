// Where in large files a block may start: what readers that jump about in them share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/base/error.h"
#include "harness/base/random.h"
#include "harness/record/file_table.h"

namespace headrace {

/// Numbers every place of the files that are as large as a block.
class BlockPlaces {
 public:
  /// Offsets are multiples of `alignment`. Throws RunError when no file is large enough.
  BlockPlaces(const FileTable& files, std::uint64_t block_size, std::uint64_t alignment)
      : block_size_(block_size), alignment_(alignment) {
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < files.count(); ++i) {
      if (files.size(i) < block_size) continue;
      end += (files.size(i) - block_size) / alignment + 1;
      blocks_ += files.size(i) / block_size;
      selected_.push_back(i);
      ends_.push_back(end);
    }
    if (selected_.empty()) throw RunError("no file below " + files.root() + " is as large as block_size");
    per_file_ = ends_.front();
    for (std::size_t i = 0; i < ends_.size(); ++i)
      if (ends_[i] != per_file_ * (i + 1)) per_file_ = 0;
  }

  /// Files of the table that have the blocks; requests carry positions in this list.
  const std::vector<std::uint32_t>& selected() const noexcept { return selected_; }
  std::uint64_t count() const noexcept { return ends_.back(); }
  /// Blocks that do not overlap, in all files.
  std::uint64_t blocks() const noexcept { return blocks_; }

  void locate(std::uint64_t place, BlockRequest& request) const noexcept {
    if (per_file_) {
      request.file = static_cast<std::uint32_t>(place / per_file_);
      place %= per_file_;
    } else {
      const auto end = std::upper_bound(ends_.begin(), ends_.end(), place);
      request.file = static_cast<std::uint32_t>(end - ends_.begin());
      if (request.file > 0) place -= ends_[request.file - 1];
    }
    request.offset = place * alignment_;
    request.length = static_cast<std::uint32_t>(block_size_);
  }

  /// After how many steps of an order of all places have `reads` of them come?
  std::uint64_t steps(const RandomOrder& order, std::uint64_t reads) const {
    if (reads >= order.count()) return order.steps();
    std::uint64_t step = 0;
    for (std::uint64_t place; reads > 0; ++step) reads -= order.at(step, place);
    return step;
  }

 private:
  std::uint64_t block_size_, alignment_;
  std::vector<std::uint32_t> selected_;
  std::vector<std::uint64_t> ends_;  // file i has the places from ends_[i-1] to ends_[i]
  std::uint64_t per_file_ = 0;       // places in each file when all have the same number, else 0
  std::uint64_t blocks_ = 0;
};

}  // namespace headrace
