// The queue between the workers of one GPU's loader and that GPU. It limits how far ahead they may read, and determines
// the order of batches.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/workload/data/pipeline/bell.h"

namespace headrace::pipeline {

enum class Order {
  by_turns,  // batch i is worker i mod workers', and comes after batch i-1. A slow one holds back those that are ready
  as_ready,  // whichever is ready first
};

/// For one phase. A worker hands over a batch, or one of the `pieces` (tf.data: samples) of the GPU's batch. A worker
/// may have `ahead` of them that are begun and not taken. The batch that the GPU computes with is taken. Workers that
/// have no more are passed over; pieces at the end that make no whole batch are dropped. Nothing here allocates or
/// locks after construction.
class BatchQueue {
 public:
  struct Shape {
    unsigned workers = 1, ahead = 1;
    Order order = Order::by_turns;
    std::uint64_t pieces = 1;
  };
  /// `gpu` is rung when a piece is ready, or a worker has no more.
  BatchQueue(const Shape& shape, Bell& gpu);

  // Worker `index`, on its own thread.

  /// May it begin another piece? If not, wait() and ask again.
  bool may_begin(unsigned index) noexcept;
  /// Until the GPU took one of its pieces, or close(); `most_ns` at most.
  void wait(unsigned index, std::uint64_t most_ns) noexcept;
  /// May begin, and does.
  void begin(unsigned index) noexcept { ++seats_[index].begun; }
  void ready(unsigned index, std::uint64_t at_ns) noexcept;
  /// It has no more than those that are ready.
  void end(unsigned index) noexcept;

  // The GPU, on its thread.

  enum class Taken { batch, not_yet, over };
  /// The next batch, and since when it was ready; `over` when all workers have ended and theirs are taken.
  Taken take(std::uint64_t& ready_ns) noexcept;
  /// Pieces that are ready and not taken, and how many that can be.
  std::uint32_t waiting() const noexcept;
  std::uint32_t capacity() const noexcept { return ahead_ * static_cast<std::uint32_t>(count_); }
  /// Wakes every waiting worker, to check whether to continue.
  void close() noexcept;

 private:
  /// For one worker, on its own cache lines.
  struct alignas(128) Seat {
    std::uint32_t begun = 0;  // by the worker alone
    std::atomic<std::uint32_t> ready{0}, taken{0};
    std::atomic<bool> ended{false};
    Bell worker;
    std::unique_ptr<std::uint64_t[]> ready_ns;  // a ring
  };

  Taken take_piece(std::uint64_t& ready_ns) noexcept;
  Taken take_from(Seat& seat, std::uint64_t& ready_ns) noexcept;
  Taken take_by_turns(std::uint64_t& ready_ns) noexcept;
  Taken take_first(std::uint64_t& ready_ns) noexcept;

  const std::uint32_t ahead_;
  const Order order_;
  const std::size_t count_;
  std::unique_ptr<Seat[]> seats_;
  const std::uint64_t pieces_;
  // By the GPU alone: whose turn it is. Of the batch that is being put together, pieces and when the last one was
  // ready.
  std::size_t turn_ = 0;
  std::uint64_t have_ = 0, latest_ns_ = 0;
  Bell& gpu_;
};

}  // namespace headrace::pipeline
