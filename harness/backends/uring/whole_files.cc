// Whole files: open, read and close of each file linked, many files in flight.
#include <algorithm>
#include <vector>

#include "harness/backends/open_files.h"
#include "harness/backends/uring/cached.h"
#include "harness/backends/uring/ring.h"
#include "harness/backends/uring/uring_engine.h"
#include "harness/record/recorder.h"

namespace headrace::uring {
namespace {

enum class Step : std::uint8_t { open, read, close };

/// One file on its way. All steps that are known beforehand go to the kernel at once, linked. Each starts when the one
/// before is done. Then the rest follows, such as the next block of a large file, or the close after
/// an error. A short read breaks the link, and its rest follows, too.
struct Slot {
  FileCompletion file;
  std::uint64_t size = 0;
  int descriptor = -1;  // when files are opened the ordinary way
  int flags = kReadFlags;
  std::uint8_t pending = 0;  // completions to come
  bool linked = true;
  bool opened = false, closed = false;
  bool moved = false;  // a step succeeded since the last push
};

class UringWholeFiles final : public WholeFileReader {
 public:
  UringWholeFiles(const FileTable& files, const ReaderOptions& options, Notes& notes, bool link)
      : files_(files),
        notes_(notes),
        block_(whole_file_block(files, options)),
        direct_(options.direct),
        want_link_(link),
        cached_first_(is_cached_first(options)),
        poll_submission_(options.poll_submission),
        buffers_(options.queue_depth, block_, options.huge_pages),
        slots_(options.queue_depth) {
    require_direct(files, options);
    notes.add_pages(buffers_, options.huge_pages);
    if (cached_first_) notes.add(kCachedFirst);
    for (std::uint32_t i = options.queue_depth; i > 0; --i) free_.push_back(i - 1);
    done_.reserve(options.queue_depth);
    if (options.poll_completion) notes.add("io_uring: opening files cannot be polled for: completions interrupt");
  }

  void attach() override {
    ring_.reset();
    const auto depth = static_cast<unsigned>(slots_.size());
    ring_ = std::make_unique<Ring>(3 * depth, notes_, Polling{.submission = poll_submission_});
    ring_->register_memory(buffers_.all(), notes_);
    link_ = want_link_ && ring_->has_linked_files() && ring_->register_places(depth);
    if (want_link_ && !link_)
      notes_.add("io_uring: this kernel cannot read a file that a linked request opens (Linux 5.19)");
  }

  std::span<const FileCompletion> exchange(std::span<const std::uint32_t> files, unsigned wait_for) override {
    take_back();
    const std::uint64_t begin_ns = now_ns();
    for (const std::uint32_t file : files) start(file, begin_ns);
    const auto in_flight = static_cast<unsigned>(slots_.size() - free_.size());
    wait_for = std::min(wait_for, in_flight);
    if (done_.size() == in_flight) return done_;  // nothing is left for the ring
    do {
      ring_->enter(done_.size() < wait_for ? 1 : 0);
      reap();
    } while (done_.size() < wait_for);
    return done_;
  }
  std::span<const FileCompletion> wait_until(std::uint64_t until_ns) override {
    take_back();
    ring_->enter_until(until_ns);
    reap();
    return done_;
  }
  unsigned free_slots() const override { return static_cast<unsigned>(free_.size() + done_.size()); }
  const unsigned char* data(std::uint32_t slot) const override { return buffers_[slot]; }

 private:
  /// The files handed out last time are the caller's until now.
  void take_back() noexcept {
    for (const FileCompletion& old : done_) free_.push_back(old.slot);
    done_.clear();
  }

  void reap() noexcept {
    const std::uint64_t now = now_ns();
    ring_->reap([&](std::uint64_t tag, int result) { take(tag, result, now); });
  }

  void start(std::uint32_t file, std::uint64_t begin_ns) noexcept {
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot = Slot{};
    slot.file.file = file;
    slot.file.slot = index;
    slot.file.begin_ns = begin_ns;
    slot.size = files_.size(file);
    slot.flags = kReadFlags | (direct_ ? O_DIRECT : 0);
    slot.linked = link_;
    if (cached_first_ && open_cached(slot)) {
      read_cached(slot);
    } else {
      push(slot);
    }
  }

  /// Opens the file if that needs no waiting.
  bool open_cached(Slot& slot) noexcept {
    const int fd = open_if_cached(files_.root_fd(), files_.path(slot.file.file), slot.flags);
    if (fd < 0) return false;
    slot.linked = false;
    slot.moved = true;
    opened(slot, fd, now_ns());
    return true;
  }

  /// Reads on as long as that needs no waiting, and closes; the ring does the rest.
  void read_cached(Slot& slot) noexcept {
    while (slot.file.bytes < slot.size) {
      const std::uint64_t length = std::min(block_, slot.size - slot.file.bytes);
      const std::int64_t got = uring::read_cached(slot.descriptor, buffers_[slot.file.slot], length, slot.file.bytes);
      if (got <= 0) return push(slot);
      have_read(slot, static_cast<int>(got), now_ns());
    }
    closed(slot, ::close(slot.descriptor) == 0 ? 0 : -errno);
    finish(slot, now_ns());
  }

  /// Where the next bytes go, and how many fit: a short read is continued behind its bytes.
  unsigned char* place(const Slot& slot) const noexcept { return buffers_[slot.file.slot] + slot.file.bytes % block_; }
  std::uint64_t room(const Slot& slot) const noexcept { return block_ - slot.file.bytes % block_; }

  /// Sets the owner of the completion; after the prep call, which clears the request.
  static void tag(io_uring_sqe* sqe, Slot& slot, Step step) noexcept {
    sqe->user_data = (std::uint64_t{slot.file.slot} << 2) | static_cast<std::uint64_t>(step);
    ++slot.pending;
  }

  /// Pushes the next step and, when linked, the ones after it up to the first whose need cannot be
  /// known.
  void push(Slot& slot) noexcept {
    slot.moved = false;
    if (!slot.opened) {
      io_uring_sqe* sqe = push_open(slot);
      if (!slot.linked) return;
      sqe->flags |= IOSQE_IO_LINK;
    }
    if (slot.file.bytes < slot.size && slot.file.error == 0) {
      std::uint64_t rest = slot.size - slot.file.bytes;
      if (direct_) rest = round_up(rest, kPage);
      const std::uint64_t length = std::min(room(slot), rest);
      io_uring_sqe* sqe = push_read(slot, length);
      if (!slot.linked || length < rest) return;
      sqe->flags |= IOSQE_IO_LINK;
    }
    push_close(slot);
  }

  io_uring_sqe* push_open(Slot& slot) noexcept {
    io_uring_sqe* sqe = ring_->request();
    const char* path = files_.path(slot.file.file);
    if (slot.linked) {  // a place in the ring's table is closed on exec anyway, and the flag is
                        // refused
      io_uring_prep_openat_direct(sqe, files_.root_fd(), path, slot.flags & ~O_CLOEXEC, 0, slot.file.slot);
    } else {
      io_uring_prep_openat(sqe, files_.root_fd(), path, slot.flags, 0);
    }
    tag(sqe, slot, Step::open);
    return sqe;
  }

  io_uring_sqe* push_read(Slot& slot, std::uint64_t length) noexcept {
    io_uring_sqe* sqe = ring_->request();
    const int file = slot.linked ? static_cast<int>(slot.file.slot) : slot.descriptor;
    ring_->prepare_read(sqe, file, place(slot), length, slot.file.bytes);
    if (slot.linked) sqe->flags |= IOSQE_FIXED_FILE;
    tag(sqe, slot, Step::read);
    return sqe;
  }

  void push_close(Slot& slot) noexcept {
    io_uring_sqe* sqe = ring_->request();
    if (slot.linked) {
      io_uring_prep_close_direct(sqe, slot.file.slot);
    } else {
      io_uring_prep_close(sqe, slot.descriptor);
    }
    tag(sqe, slot, Step::close);
  }

  void take(std::uint64_t user_data, int result, std::uint64_t now) noexcept {
    Slot& slot = slots_[user_data >> 2];
    --slot.pending;
    if (result != -ECANCELED) {
      slot.moved = true;
      switch (static_cast<Step>(user_data & 3)) {
        case Step::open:
          opened(slot, result, now);
          break;
        case Step::read:
          have_read(slot, result, now);
          break;
        case Step::close:
          closed(slot, result);
          break;
      }
    }
    if (slot.pending > 0) return;
    if (!slot.moved) fail(slot, ECANCELED, 2);  // nothing of a whole chain was done, without a reason
    if (slot.closed || (!slot.opened && slot.file.error)) {
      finish(slot, now);
    } else {
      push(slot);
    }
  }

  void opened(Slot& slot, int result, std::uint64_t now) noexcept {
    if (result == -EPERM && (slot.flags & O_NOATIME)) {
      slot.flags &= ~O_NOATIME;  // not our file; tried again
      return;
    }
    if (result < 0) return fail(slot, -result, 1);
    slot.opened = true;
    slot.descriptor = result;
    slot.file.opened_ns = now;
  }

  void have_read(Slot& slot, int result, std::uint64_t now) noexcept {
    if (result <= 0) return fail(slot, result < 0 ? -result : OperationError::kShortRead, 2);
    slot.file.bytes += static_cast<std::uint64_t>(result);
    ++slot.file.requests;
    slot.file.read_ns = now;
  }

  void closed(Slot& slot, int result) noexcept {
    slot.closed = true;
    if (result < 0) fail(slot, -result, 3);
  }

  static void fail(Slot& slot, int code, std::uint8_t part) noexcept {
    if (slot.file.error) return;
    slot.file.error = code;
    slot.file.failed_part = part;
    slot.file.failed_offset = slot.file.bytes;
  }

  void finish(Slot& slot, std::uint64_t now) noexcept {
    FileCompletion& file = slot.file;
    file.end_ns = now;
    if (!file.read_ns) file.read_ns = now;
    if (!file.opened_ns) file.opened_ns = file.read_ns;
    done_.push_back(file);
  }

  const FileTable& files_;
  Notes& notes_;
  const std::uint64_t block_;
  const bool direct_, want_link_, cached_first_, poll_submission_;
  Buffers buffers_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  // neither this nor done_ grows beyond the queue depth
  std::vector<FileCompletion> done_;
  std::unique_ptr<Ring> ring_;
  bool link_ = false;
};

}  // namespace

std::unique_ptr<WholeFileReader> make_whole_files(const FileTable& files, const ReaderOptions& options, Notes& notes,
                                                  bool link) {
  return std::make_unique<UringWholeFiles>(files, options, notes, link);
}

}  // namespace headrace::uring
