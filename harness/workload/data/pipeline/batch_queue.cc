#include "harness/workload/data/pipeline/batch_queue.h"

#include <algorithm>

namespace headrace::pipeline {

BatchQueue::BatchQueue(const Shape& shape, Bell& gpu)
    : ahead_(shape.ahead),
      order_(shape.order),
      count_(shape.workers),
      seats_(std::make_unique<Seat[]>(shape.workers)),
      pieces_(shape.pieces),
      gpu_(gpu) {
  for (std::size_t i = 0; i < count_; ++i) seats_[i].ready_ns = std::make_unique<std::uint64_t[]>(ahead_);
}

bool BatchQueue::may_begin(unsigned index) noexcept {
  Seat& seat = seats_[index];
  return seat.begun - seat.taken.load() < ahead_;
}

void BatchQueue::wait(unsigned index, std::uint64_t most_ns) noexcept {
  Seat& seat = seats_[index];
  const std::uint32_t looked = seat.worker.look();
  if (may_begin(index)) return seat.worker.leave();
  seat.worker.wait(looked, most_ns);
}

void BatchQueue::ready(unsigned index, std::uint64_t at_ns) noexcept {
  Seat& seat = seats_[index];
  const std::uint32_t number = seat.ready.load(std::memory_order_relaxed);
  seat.ready_ns[number % ahead_] = at_ns;
  seat.ready.store(number + 1);
  gpu_.ring();
}

void BatchQueue::end(unsigned index) noexcept {
  seats_[index].ended.store(true);
  gpu_.ring();
}

BatchQueue::Taken BatchQueue::take(std::uint64_t& ready_ns) noexcept {
  while (have_ < pieces_) {
    std::uint64_t at_ns = 0;
    const Taken taken = take_piece(at_ns);
    if (taken != Taken::batch) return taken;
    ++have_;
    latest_ns_ = std::max(latest_ns_, at_ns);
  }
  ready_ns = latest_ns_;
  have_ = latest_ns_ = 0;
  return Taken::batch;
}

BatchQueue::Taken BatchQueue::take_piece(std::uint64_t& ready_ns) noexcept {
  return order_ == Order::by_turns ? take_by_turns(ready_ns) : take_first(ready_ns);
}

BatchQueue::Taken BatchQueue::take_from(Seat& seat, std::uint64_t& ready_ns) noexcept {
  // `ended` is read first: batches that are ready afterwards are the last ones.
  const bool ended = seat.ended.load();
  const std::uint32_t taken = seat.taken.load(std::memory_order_relaxed);
  if (seat.ready.load() == taken) return ended ? Taken::over : Taken::not_yet;
  ready_ns = seat.ready_ns[taken % ahead_];
  seat.taken.store(taken + 1);
  seat.worker.ring();
  return Taken::batch;
}

BatchQueue::Taken BatchQueue::take_by_turns(std::uint64_t& ready_ns) noexcept {
  for (std::size_t passed_over = 0; passed_over < count_; ++passed_over) {
    const Taken taken = take_from(seats_[turn_], ready_ns);
    if (taken == Taken::not_yet) return taken;
    turn_ = (turn_ + 1) % count_;
    if (taken == Taken::batch) return taken;
  }
  return Taken::over;
}

BatchQueue::Taken BatchQueue::take_first(std::uint64_t& ready_ns) noexcept {
  Seat* first = nullptr;
  std::uint64_t first_ns = UINT64_MAX;
  bool all_ended = true;
  for (std::size_t i = 0; i < count_; ++i) {
    Seat& seat = seats_[i];
    const bool ended = seat.ended.load();
    const std::uint32_t taken = seat.taken.load(std::memory_order_relaxed);
    if (seat.ready.load() == taken) {
      all_ended &= ended;
      continue;
    }
    all_ended = false;
    const std::uint64_t at = seat.ready_ns[taken % ahead_];
    if (at >= first_ns) continue;
    first = &seat;
    first_ns = at;
  }
  if (first != nullptr) return take_from(*first, ready_ns);
  return all_ended ? Taken::over : Taken::not_yet;
}

std::uint32_t BatchQueue::waiting() const noexcept {
  std::uint32_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) all += seats_[i].ready.load() - seats_[i].taken.load();
  return all;
}

void BatchQueue::close() noexcept {
  for (std::size_t i = 0; i < count_; ++i) seats_[i].worker.ring();
}

}  // namespace headrace::pipeline
