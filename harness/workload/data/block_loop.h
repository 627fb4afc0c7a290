// The hot loop of every workload that reads or writes blocks. It keeps the queue full, or sends due requests, and
// records completions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/record/recorder.h"
#include "harness/workload/data/open_loop.h"

namespace headrace {

class BlockLoop {
 public:
  explicit BlockLoop(std::uint32_t queue_depth) : requests_(queue_depth), due_(queue_depth) {
    free_.reserve(queue_depth);
  }

  /// While next(request) fills in another block (file, offset, length), one is asked for whenever a buffer is free.
  /// take(completion) sees every one that comes back. Ends when nothing is left in flight, and detaches `io`. `io`: a
  /// BlockReader or BlockWriter.
  template <class Io, class Next, class Take>
  void run(Io& io, Next&& next, Take&& take) {
    free_all();
    for (;;) {
      std::size_t n = 0;
      while (!free_.empty() && next(requests_[n])) {
        requests_[n++].slot = free_.back();
        free_.pop_back();
      }
      const auto done = io.exchange(std::span(requests_).first(n), 1);
      if (done.empty()) break;
      for (const BlockCompletion& block : done) {
        take(block);
        free_.push_back(block.slot);
      }
    }
    io.detach();
  }

  /// The same in an open loop: a block is asked for when it is due, and begins then for take().
  /// Without a lane, run().
  template <class Next, class Take>
  void run(BlockReader& io, Lane* lane, Next&& next, Take&& take) {
    if (lane == nullptr) return run(io, next, take);
    free_all();
    std::size_t in_flight = 0;
    for (;;) {
      const std::uint64_t now = now_ns();
      std::size_t n = 0;
      while (!free_.empty() && lane->due(now)) {
        if (!next(requests_[n])) {
          lane->close();
          break;
        }
        requests_[n++].slot = free_.back();
        due_[free_.back()] = lane->use();
        free_.pop_back();
      }
      in_flight += n;
      if (in_flight == 0 && !lane->open()) break;
      const auto done = n > 0 ? io.exchange(std::span(requests_).first(n), 0) : io.wait_until(lane->wait_until(now));
      in_flight -= done.size();
      for (BlockCompletion block : done) {
        const std::uint64_t due = due_[block.slot];
        lane->ended(due, block.begin_ns, block.end_ns);
        block.begin_ns = due;
        take(block);
        free_.push_back(block.slot);
      }
    }
    io.detach();
  }

 private:
  void free_all() {
    free_.clear();
    for (auto slot = static_cast<std::uint32_t>(requests_.size()); slot > 0; --slot) free_.push_back(slot - 1);
  }

  std::vector<BlockRequest> requests_;  // one batch
  std::vector<std::uint32_t> free_;     // buffers with nothing in flight
  std::vector<std::uint64_t> due_;      // by slot: the intended start in an open loop
};

/// The error of an incomplete block of the data set's `file`: where it failed, or the file ended.
inline OperationError failed_block(const BlockCompletion& block, std::uint32_t file) noexcept {
  const bool failed = block.result < 0;
  const auto got = static_cast<std::uint64_t>(failed ? 0 : block.result);
  return {.code = block.error != 0 ? block.error
                  : failed         ? static_cast<int>(-block.result)
                                   : OperationError::kShortRead,
          .file = file,
          .offset = block.offset + got};
}

/// Records a block of which `wanted` bytes were to come. Less is an error at the place where the file ended. `file` is
/// the index in the data set. True when all came. `recorder`: a Recorder or a Batches::Lane.
template <class Record>
bool record_block(const BlockCompletion& block, std::uint64_t wanted, std::uint32_t file, Record& recorder) noexcept {
  if (block.result >= static_cast<std::int64_t>(wanted)) {
    recorder.op(block.begin_ns, block.end_ns, wanted);
    return true;
  }
  recorder.fail(failed_block(block, file), block.end_ns);
  return false;
}

}  // namespace headrace
