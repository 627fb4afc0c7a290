#include "harness/workload/data/batches.h"

#include <algorithm>

#include "harness/base/clock.h"
#include "harness/base/futex.h"

namespace headrace {
namespace {

constexpr std::uint64_t kLook = 20'000'000;  // between two looks whether to stop [ns]

}  // namespace

Batches::Batches(unsigned workers, unsigned ahead)
    : ahead_(ahead), seats_(workers), read_(std::size_t{workers} * ahead) {}

Batches::Lane Batches::lane(unsigned index, std::uint64_t operations) { return {*this, index, operations}; }

// A worker that has read a batch publishes it and then looks for the next to be delivered. After a delivery it looks
// again. As all of it is in one order (seq_cst), one of two workers sees what the other has done.

void Batches::read(std::uint64_t batch) noexcept {
  read_[batch % read_.size()].store(batch + 1);
  deliver();
}

void Batches::end(unsigned worker, std::uint64_t batches) noexcept {
  seats_[worker].batches.store(batches);
  deliver();
}

void Batches::deliver() noexcept {
  std::uint64_t batch = next_.load();
  for (std::size_t passed_over = 0; passed_over < seats_.size();) {  // else all workers have ended
    Seat& seat = seats_[batch % seats_.size()];
    if (read_[batch % read_.size()].load() == batch + 1) {
      passed_over = 0;
      if (!next_.compare_exchange_strong(batch, batch + 1)) continue;
      seat.delivered.fetch_add(1);
      futex_wake(seat.delivered);
    } else if (batch / seats_.size() >= seat.batches.load()) {
      ++passed_over;  // this worker has none left
      if (!next_.compare_exchange_strong(batch, batch + 1)) continue;
    } else {
      return;
    }
    ++batch;
  }
}

Batches::Lane::Lane(Batches& all, unsigned index, std::uint64_t operations)
    : all_(all), index_(index), kept_(std::max<std::uint64_t>(operations, 1)), ends_(all.ahead_) {}

std::uint32_t Batches::Lane::write_down() noexcept {
  const std::uint32_t delivered = seat().delivered.load();
  for (; written_ != delivered; ++written_) {
    for (const std::uint64_t end = ends_[written_ % ends_.size()]; taken_ != end; ++taken_) {
      const Operation& one = kept_[taken_ % kept_.size()];
      recorder_->op(one.begin_ns, one.end_ns, one.bytes);
    }
  }
  return delivered;
}

bool Batches::Lane::next() noexcept {
  for (;;) {
    const std::uint32_t delivered = write_down();
    if (!goes_on(now_ns())) return leave(), false;
    if (begun_ - delivered < all_.ahead_) break;
    futex_wait(seat().delivered, delivered, kLook);
  }
  ++begun_;
  return true;
}

void Batches::Lane::read() noexcept {
  ends_[(begun_ - 1) % ends_.size()] = put_;
  all_.read(std::uint64_t{begun_ - 1} * all_.seats_.size() + index_);
}

void Batches::Lane::end() noexcept {
  all_.end(index_, begun_);
  for (;;) {
    const std::uint32_t delivered = write_down();
    if (delivered == begun_) return;
    if (!goes_on(now_ns())) return leave();
    futex_wait(seat().delivered, delivered, kLook);
  }
}

void Batches::Lane::leave() noexcept {
  write_down();
  // A worker of which nothing was delivered has no part in the time that it took.
  if (taken_ == 0 && recorder_->errors() == 0) recorder_->extend(recorder_->started_ns() + 1);
}

}  // namespace headrace
