// Blocks of memory to open files, a batch of requests and a batch of completions per system call.
#include <algorithm>
#include <vector>

#include "harness/backends/uring/ring.h"
#include "harness/backends/uring/uring_engine.h"
#include "harness/record/recorder.h"

namespace headrace::uring {
namespace {

class UringWriter final : public BlockWriter {
 public:
  UringWriter(const WriterOptions& options, Notes& notes)
      : notes_(notes), memory_(options.memory), slots_(options.queue_depth) {
    done_.reserve(options.queue_depth);
  }

  void attach() override {
    ring_.reset();  // the old one first: both would count against the limit on locked memory
    ring_ = std::make_unique<Ring>(static_cast<unsigned>(slots_.size()), notes_);
    if (!memory_.empty()) ring_->register_memory(memory_, notes_);
  }

  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned wait_for) override {
    done_.clear();
    const std::uint64_t begin_ns = now_ns();
    for (const BlockRequest& request : requests) {
      slots_[request.slot] = {request, 0, begin_ns};
      push(request.slot);
    }
    in_flight_ += static_cast<unsigned>(requests.size());
    wait_for = std::min(wait_for, in_flight_);
    do {
      ring_->enter(done_.size() < wait_for ? 1 : 0);
      const std::uint64_t end_ns = now_ns();
      ring_->reap([&](std::uint64_t slot, int result) { take(static_cast<std::uint32_t>(slot), result, end_ns); });
    } while (done_.size() < wait_for);
    in_flight_ -= static_cast<unsigned>(done_.size());
    return done_;
  }

 private:
  struct Slot {
    BlockRequest request;
    std::uint32_t done = 0;  // bytes, after a write that was cut short
    std::uint64_t begin_ns = 0;
  };

  void push(std::uint32_t index) noexcept {
    const Slot& slot = slots_[index];
    const BlockRequest& request = slot.request;
    io_uring_sqe* sqe = ring_->request();
    ring_->prepare_write(sqe, static_cast<int>(request.file), request.from + slot.done, request.length - slot.done,
                         request.offset + slot.done);
    sqe->user_data = index;
  }

  void take(std::uint32_t index, int result, std::uint64_t end_ns) noexcept {
    Slot& slot = slots_[index];
    const BlockRequest& request = slot.request;
    if (result > 0) {
      slot.done += static_cast<std::uint32_t>(result);
      if (slot.done < request.length) return push(index);  // a full disk takes a part and then returns the error
    }
    std::int64_t total = slot.done;
    std::uint64_t at = request.offset;
    if (result <= 0) {
      total = result < 0 ? result : -EIO;
      at += slot.done;
    }
    done_.push_back({.file = request.file,
                     .slot = index,
                     .offset = at,
                     .result = total,
                     .begin_ns = slot.begin_ns,
                     .end_ns = end_ns});
  }

  Notes& notes_;
  std::span<const unsigned char> memory_;
  std::vector<Slot> slots_;
  std::vector<BlockCompletion> done_;  // never grows beyond the reserved size
  std::unique_ptr<Ring> ring_;
  unsigned in_flight_ = 0;
};

}  // namespace

std::unique_ptr<BlockWriter> make_writer(const WriterOptions& options, Notes& notes) {
  return std::make_unique<UringWriter>(options, notes);
}

}  // namespace headrace::uring
