// Going through files in order, block by block: what readers of shards and checkpoints share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "harness/backends/buffers.h"
#include "harness/backends/file_io.h"
#include "harness/record/file_table.h"

namespace headrace {

/// `selected` files of the table, in that order, `passes` times. Requests carry positions in `selected`, as a
/// BlockReader over the same list wants them.
class FileCursor {
 public:
  FileCursor(const FileTable& files, std::span<const std::uint32_t> selected, std::uint64_t block_size, bool direct,
             std::uint64_t passes = 1)
      : files_(files),
        selected_(selected),
        block_size_(block_size),
        direct_(direct),
        passes_(selected.empty() ? 0 : passes) {}

  /// Is there another block?
  bool more() const noexcept { return passes_ > 0; }
  /// False at the end. A direct read of a file's last block asks for whole pages.
  bool next(BlockRequest& request) noexcept {
    if (passes_ == 0) return false;
    const std::uint64_t length = length_at(position_, offset_);
    request.file = position_;
    request.offset = offset_;
    request.length = static_cast<std::uint32_t>(direct_ ? round_up(length, kPage) : length);
    offset_ += length;
    if (offset_ == files_.size(selected_[position_])) {
      offset_ = 0;
      if (++position_ == selected_.size()) {
        position_ = 0;
        --passes_;
      }
    }
    return true;
  }
  /// Bytes that a block which starts at `offset` of the file at `position` has to bring.
  std::uint64_t length_at(std::uint32_t position, std::uint64_t offset) const noexcept {
    return std::min(block_size_, files_.size(selected_[position]) - offset);
  }

 private:
  const FileTable& files_;
  std::span<const std::uint32_t> selected_;
  std::uint64_t block_size_;
  bool direct_;
  std::uint64_t passes_;  // left
  std::uint32_t position_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace headrace
