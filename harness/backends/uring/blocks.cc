// Blocks of open files: a batch of requests and a batch of completions per system call.
#include <algorithm>
#include <cstring>
#include <vector>

#include "harness/backends/open_files.h"
#include "harness/backends/uring/cached.h"
#include "harness/backends/uring/ring.h"
#include "harness/backends/uring/uring_engine.h"
#include "harness/record/recorder.h"

namespace headrace::uring {
namespace {

class UringBlocks final : public BlockReader {
 public:
  UringBlocks(const FileTable& files, std::span<const std::uint32_t> selected, const ReaderOptions& options,
              Notes& notes)
      : notes_(notes),
        open_(files, selected, options),
        buffers_(options.queue_depth, options.block_size, options.huge_pages),
        polling_{options.poll_submission, options.poll_completion && options.direct},
        slots_(options.queue_depth),
        direct_(options.direct),
        cached_first_(is_cached_first(options)) {
    notes.add_pages(buffers_, options.huge_pages);
    if (cached_first_) notes.add(kCachedFirst);
    done_.reserve(options.queue_depth);
    sizes_.reserve(selected.size());
    for (const std::uint32_t file : selected) sizes_.push_back(files.size(file));
  }

  void attach() override {
    make_ring();
    if (ring_->polls_completion()) try_polling();
    if (direct_) ring_->submit_unbatched();
    ring_->register_memory(buffers_.all(), notes_);
    fixed_files_ = !open_.all().empty() && ring_->register_files(open_.all(), notes_);
  }

  std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned wait_for) override {
    done_.clear();
    const std::uint64_t begin_ns = now_ns();
    for (const BlockRequest& request : requests) {
      slots_[request.slot] = {request, 0, begin_ns};
      if (cached_first_ && have_cached(request)) return done_;
      push(request.slot);
    }
    in_flight_ += static_cast<unsigned>(requests.size());
    wait_for = std::min(wait_for, in_flight_);
    do {
      const auto got = static_cast<unsigned>(done_.size());
      ring_->enter(wait_for > got ? wait_for - got : 0);
      reap();
    } while (done_.size() < wait_for);
    in_flight_ -= static_cast<unsigned>(done_.size());
    return done_;
  }
  std::span<const BlockCompletion> wait_until(std::uint64_t until_ns) override {
    done_.clear();
    ring_->enter_until(until_ns);
    reap();
    in_flight_ -= static_cast<unsigned>(done_.size());
    return done_;
  }
  unsigned char* data(std::uint32_t slot) override { return buffers_[slot]; }

 private:
  struct Slot {
    BlockRequest request;
    std::uint32_t done = 0;  // bytes, after a read that came back short
    std::uint64_t begin_ns = 0;
  };

  void make_ring() {
    ring_.reset();  // the old one first: both would count against the limit on locked memory
    ring_ = std::make_unique<Ring>(static_cast<unsigned>(slots_.size()), notes_, polling_);
  }

  /// Whether a device can be polled only a read reports.
  void try_polling() {
    if (open_.all().empty()) return;
    int result = 0;
    io_uring_sqe* sqe = ring_->request();
    ring_->prepare_read(sqe, open_[0], buffers_[0], kPage, 0);
    for (bool came = false; !came;) {
      ring_->enter(1);
      ring_->reap([&](std::uint64_t, int outcome) {
        result = outcome;
        came = true;
      });
    }
    if (result >= 0) return;
    notes_.add(std::string("io_uring: the device cannot be polled for completions: ") + std::strerror(-result));
    polling_.completion = false;
    make_ring();
  }

  void reap() noexcept {
    const std::uint64_t end_ns = now_ns();
    ring_->reap([&](std::uint64_t slot, int result) { take(static_cast<std::uint32_t>(slot), result, end_ns); });
  }

  /// True when all of it was in the page cache; else the ring reads the rest.
  bool have_cached(const BlockRequest& request) noexcept {
    const std::int64_t got = read_cached(open_[request.file], buffers_[request.slot], request.length, request.offset);
    if (got < 0) cached_first_ = errno != EOPNOTSUPP;
    Slot& slot = slots_[request.slot];
    if (got > 0) slot.done = static_cast<std::uint32_t>(got);
    if (slot.done < request.length) return false;
    done_.push_back({.file = request.file,
                     .slot = request.slot,
                     .offset = request.offset,
                     .result = got,
                     .begin_ns = slot.begin_ns,
                     .end_ns = now_ns()});
    return true;
  }

  void push(std::uint32_t index) noexcept {
    const Slot& slot = slots_[index];
    const BlockRequest& request = slot.request;
    io_uring_sqe* sqe = ring_->request();
    const int file = fixed_files_ ? static_cast<int>(request.file) : open_[request.file];
    ring_->prepare_read(sqe, file, buffers_[index] + slot.done, request.length - slot.done, request.offset + slot.done);
    if (fixed_files_) sqe->flags |= IOSQE_FIXED_FILE;
    sqe->user_data = index;
  }

  void take(std::uint32_t index, int result, std::uint64_t end_ns) noexcept {
    Slot& slot = slots_[index];
    const BlockRequest& request = slot.request;
    if (result > 0) {
      slot.done += static_cast<std::uint32_t>(result);
      const std::uint64_t size = sizes_[request.file];
      if (slot.done < request.length && request.offset + slot.done < size) return push(index);  // short: the rest
    }
    const bool failed = result < 0;
    const std::int64_t total = failed ? std::int64_t{result} : std::int64_t{slot.done};
    const std::uint64_t at = request.offset + (failed ? slot.done : 0);
    done_.push_back({.file = request.file,
                     .slot = index,
                     .offset = at,
                     .result = total,
                     .begin_ns = slot.begin_ns,
                     .end_ns = end_ns});
  }

  Notes& notes_;
  OpenFiles open_;
  Buffers buffers_;
  Polling polling_;
  std::vector<Slot> slots_;
  std::vector<std::uint64_t> sizes_;
  std::vector<BlockCompletion> done_;  // never grows beyond the reserved size
  const bool direct_;
  bool cached_first_;
  std::unique_ptr<Ring> ring_;
  bool fixed_files_ = false;
  unsigned in_flight_ = 0;
};

}  // namespace

std::unique_ptr<BlockReader> make_blocks(const FileTable& files, std::span<const std::uint32_t> selected,
                                         const ReaderOptions& options, Notes& notes) {
  return std::make_unique<UringBlocks>(files, selected, options, notes);
}

}  // namespace headrace::uring
