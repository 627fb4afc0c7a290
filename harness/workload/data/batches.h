// Batches that workers read in parallel and that are delivered in order, as by a data loader. A slow one holds back
// those behind it, and a worker reads no further ahead than it may.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "harness/record/recorder.h"

namespace headrace {

/// The batches of one phase. Batch i is worker i mod workers'. It is delivered when it and all before it have been
/// read, by the worker that sees it first. The consumer is always ready: no worker waits for it.
class Batches {
 public:
  class Lane;

  /// Each worker may have `ahead` batches that are not delivered.
  Batches(unsigned workers, unsigned ahead);
  /// Untimed: worker `index`'s end of it, which keeps at most `operations` that are not delivered.
  Lane lane(unsigned index, std::uint64_t operations);

 private:
  static constexpr std::uint64_t kOpen = UINT64_MAX;

  /// The seat of one worker, on its own cache lines.
  struct alignas(128) Seat {
    std::atomic<std::uint32_t> delivered{0};    // of its batches; others wake it here
    std::atomic<std::uint64_t> batches{kOpen};  // that it has in all, once it knows
  };

  void read(std::uint64_t batch) noexcept;
  void end(unsigned worker, std::uint64_t batches) noexcept;
  void deliver() noexcept;

  const unsigned ahead_;
  std::vector<Seat> seats_;
  std::vector<std::atomic<std::uint64_t>> read_;  // a ring: the number plus one of the batch that was read last there
  alignas(128) std::atomic<std::uint64_t> next_{0};  // to be delivered
};

/// One worker's end. Takes the calls of a Recorder. Operations are written down once their batch is delivered, so that
/// undelivered reads are no throughput. Nothing here allocates or locks while it is used.
class alignas(128) Batches::Lane {
 public:
  Lane(Batches& all, unsigned index, std::uint64_t operations);
  /// On the worker's thread, first thing in its timed region.
  void begin(Recorder& recorder) noexcept { recorder_ = &recorder; }

  /// Waits until another batch may be read. False: the time is over, or a stop was requested.
  bool next() noexcept;
  /// The same for another operation of this batch, whose last one ended at `now_ns`. Does not wait.
  bool goes_on(std::uint64_t now_ns) const noexcept {
    // A batch may take longer than the time that there is: the first is read to its end.
    return recorder_->running() &&
           (now_ns < recorder_->deadline_ns() || all_.next_.load(std::memory_order_relaxed) == 0);
  }
  /// All operations of the batch have ended.
  void read() noexcept;
  /// There are no more batches: waits until all are delivered, or it is not worth waiting any longer.
  void end() noexcept;
  /// Instead of end(), in the middle of a batch.
  void leave() noexcept;

  void op(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes) noexcept {
    kept_[put_++ % kept_.size()] = {begin_ns, end_ns, bytes};
  }
  void part(unsigned number, std::uint64_t ns) noexcept { recorder_->part(number, ns); }
  void fail(const OperationError& error, std::uint64_t end_ns) noexcept { recorder_->fail(error, end_ns); }

 private:
  struct Operation {
    std::uint64_t begin_ns, end_ns, bytes;
  };

  /// Writes down the deliveries since the last call; returns the number of this worker's delivered batches.
  std::uint32_t write_down() noexcept;
  Seat& seat() noexcept { return all_.seats_[index_]; }

  Batches& all_;
  const unsigned index_;
  Recorder* recorder_ = nullptr;
  std::uint32_t begun_ = 0, written_ = 0;  // batches
  std::vector<Operation> kept_;            // a ring
  std::vector<std::uint64_t> ends_;        // a ring by batch: put_ when it had been read
  std::uint64_t put_ = 0, taken_ = 0;      // operations
};

}  // namespace headrace
