// How a storage workload moves bytes: the interface that the posix and io_uring engines implement.
// One object per worker thread. At most one virtual call per request; nothing is allocated after
// construction.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/clock.h"
#include "harness/record/file_table.h"

namespace headrace {

class ObjectStore;

/// The advice to the kernel about the order of reads: it reads ahead more, or not at all.
enum class Advice { none, sequential, random };

/// Asked for at construction, so that a reader can register buffers and files before the clock
/// starts.
struct ReaderOptions {
  std::uint32_t queue_depth = 1;       // requests in flight; more than 1 for engines that queue
  std::uint64_t block_size = 1 << 20;  // largest single read [B]
  bool direct = false;                 // O_DIRECT: offsets, lengths and buffers aligned to 4096
  Advice advice = Advice::none;        // for buffered blocks
  bool huge_pages = true;              // buffers in huge pages where there are any
  // io_uring: a kernel thread takes requests without being called. Completions are asked for at the device instead of
  // waited for (direct blocks only). A refused option is noted and left out.
  bool poll_submission = false, poll_completion = false;
  unsigned retries = 0;    // of objects: how often a request is sent again whose failure may pass
  bool keep_data = false;  // the caller will look at the data: data(slot) stays valid until reuse
};

/// One whole file: opened, read to its known size, closed. Times are CLOCK_MONOTONIC [ns]. Two that are equal came back
/// together and cannot be distinguished (linked requests of io_uring that found everything in memory).
struct FileCompletion {
  std::uint32_t file = 0;
  std::uint32_t slot = 0;
  int error = 0;                 // errno, or one of OperationError's own
  std::uint8_t failed_part = 0;  // 1 open, 2 read, 3 close
  std::uint64_t failed_offset = 0;
  std::uint64_t bytes = 0;
  std::uint32_t requests = 0;                                          // reads that it took
  std::uint64_t begin_ns = 0, opened_ns = 0, read_ns = 0, end_ns = 0;  // of an object, opened: its first byte came
};

/// Reads whole files, as a data loader does with one sample per file.
class WholeFileReader {
 public:
  virtual ~WholeFileReader() = default;
  /// Called untimed on the thread that is going to call exchange(). Called again when another thread takes over with
  /// nothing in flight. Throws RunError when the engine cannot be set up.
  virtual void attach() {}
  /// Starts reading `files` (at most free_slots() of them; indices into the table) and returns the finished ones. At
  /// least `wait_for` completions; fewer only if fewer are in flight. The span is valid until the next call.
  virtual std::span<const FileCompletion> exchange(std::span<const std::uint32_t> files, unsigned wait_for) = 0;
  /// Between the requests of an open loop: returns finished ones as soon as there is one. It returns at `until_ns`
  /// (CLOCK_MONOTONIC) at the latest, maybe with none. The span is as of exchange().
  virtual std::span<const FileCompletion> wait_until(std::uint64_t until_ns) {
    sleep_until(until_ns);
    return {};
  }
  virtual unsigned free_slots() const = 0;
  /// The bytes of the completed file in `slot`, when it fits one block (keep_data only).
  virtual const unsigned char* data(std::uint32_t slot) const = 0;
};

struct BlockRequest {
  std::uint32_t file = 0;  // position in the list given to block_reader()
  std::uint32_t slot = 0;  // which of the queue_depth buffers; comes back in the completion
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  const unsigned char* from = nullptr;  // writers: the bytes
};

struct BlockCompletion {
  std::uint32_t file = 0;
  std::uint32_t slot = 0;
  std::uint64_t offset = 0;  // of the request; of a failed one the place where it failed, as far as it is known
  std::int64_t result = 0;   // bytes, or -errno
  int error = 0;             // of objects: one of OperationError's own, or errno; then `result` is -EIO
  std::uint64_t begin_ns = 0, first_ns = 0,
                end_ns = 0;  // first_ns: of objects, when the first byte came; 0 = not known
};

/// Reads blocks of files that are already open.
class BlockReader {
 public:
  virtual ~BlockReader() = default;
  /// As WholeFileReader::attach().
  virtual void attach() {}
  /// Called after the last exchange() of a phase: releases mappings that would keep data in the page cache.
  virtual void detach() noexcept {}
  /// Submits `requests` (each with a free slot) and returns at least `wait_for` completions, fewer
  /// only if fewer are in flight. The span is valid until the next call.
  virtual std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned wait_for) = 0;
  /// As WholeFileReader::wait_until().
  virtual std::span<const BlockCompletion> wait_until(std::uint64_t until_ns) {
    sleep_until(until_ns);
    return {};
  }
  virtual unsigned char* data(std::uint32_t slot) = 0;
};

struct WriterOptions {
  std::uint32_t queue_depth = 1;            // requests in flight; more than 1 for engines that queue
  std::span<const unsigned char> memory{};  // the source of all writes: registered where that helps
};

/// Writes blocks to files that the caller has open: BlockRequest::file is the descriptor.
class BlockWriter {
 public:
  virtual ~BlockWriter() = default;
  /// As WholeFileReader::attach().
  virtual void attach() {}
  virtual void detach() noexcept {}
  /// As BlockReader::exchange(). A result below the length means that the device or quota is full.
  virtual std::span<const BlockCompletion> exchange(std::span<const BlockRequest> requests, unsigned wait_for) = 0;
};

/// A way of doing storage I/O; `engine:` in a config. Readers keep a reference to the file table.
class StorageEngine {
 public:
  virtual ~StorageEngine() = default;
  /// Why it cannot be used on this machine ("io_uring_setup: Operation not permitted
  /// (kernel.io_uring_disabled = 2)"), or nothing.
  virtual std::optional<std::string> unusable() const = 0;
  virtual std::unique_ptr<WholeFileReader> whole_file_reader(const FileTable& files, const ReaderOptions& options) = 0;
  /// Opens `selected` files of the table now, untimed. Throws RunError naming the file.
  virtual std::unique_ptr<BlockReader> block_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                                    const ReaderOptions& options) = 0;
  /// Throws RunError when the engine does not write.
  virtual std::unique_ptr<BlockWriter> block_writer(const WriterOptions& options) = 0;
  /// Fall-backs taken since the last call ("no huge pages: ordinary pages"), each once: reported,
  /// never silent.
  virtual std::vector<std::string> take_notes() = 0;
  /// The store of an engine that reads objects. nullptr = it reads files.
  virtual ObjectStore* object_store() { return nullptr; }
  /// Waits for a store's answer are given up soon after `stop` is no longer 0. `stop` outlives the engine. Of readers
  /// made from then on.
  virtual void stop_with(const std::atomic<int>& /*stop*/) {}
};

}  // namespace headrace
