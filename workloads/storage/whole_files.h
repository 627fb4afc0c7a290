// Reading every file once in a random order: the loop that file workloads share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/base/random.h"
#include "harness/record/recorder.h"
#include "harness/workload/data/open_loop.h"

namespace headrace {

/// The files of one phase in a seeded random order without replacement, handed to free workers. So all workers end at
/// the same time.
class FileQueue {
 public:
  /// Untimed.
  void fill(const FileTable& files, std::uint64_t seed) {
    order_.resize(files.count());
    std::iota(order_.begin(), order_.end(), 0u);
    shuffle_all(files, seed);
  }
  /// Untimed: these of `files` alone.
  void fill(const FileTable& files, std::span<const std::uint32_t> these, std::uint64_t seed) {
    order_.assign(these.begin(), these.end());
    shuffle_all(files, seed);
  }
  /// Untimed, after fill(): makes room for the intended starts of an open loop.
  void keep_due() { due_.resize(order_.size()); }
  /// Untimed, after fill(): only the first `files` of the order.
  void keep(std::uint64_t files) { order_.resize(std::min<std::uint64_t>(files, order_.size())); }
  /// Untimed, after fill(): of `count` processes that filled theirs alike, each its own part of the order.
  void split(unsigned index, unsigned count) {
    std::size_t kept = 0;
    for (std::size_t i = index; i < order_.size(); i += count) order_[kept++] = order_[i];
    order_.resize(kept);
  }
  /// Their number and order, for callers that do not take them in turn.
  std::size_t size() const noexcept { return order_.size(); }
  const std::uint32_t& operator[](std::size_t at) const noexcept { return order_[at]; }
  /// Nothing more is taken.
  void close() noexcept { next_.store(kClosed, std::memory_order_relaxed); }
  std::uint64_t& due(std::uint32_t file) noexcept { return due_[file]; }
  /// At most `most` files; none when all are taken.
  std::span<const std::uint32_t> take(unsigned most) noexcept {
    const std::uint64_t at = next_.fetch_add(most, std::memory_order_relaxed);
    if (at >= order_.size()) return {};
    if (at + most + 1 < order_.size()) files_->prefetch(order_[at + most], order_[at + most + 1]);
    return std::span(order_).subspan(at, std::min<std::uint64_t>(most, order_.size() - at));
  }

 private:
  void shuffle_all(const FileTable& files, std::uint64_t seed) {
    files_ = &files;
    Random random(seed);
    shuffle(std::span(order_), random);
    next_ = 0;
  }

  static constexpr std::uint64_t kClosed = std::uint64_t{1} << 62;

  const FileTable* files_ = nullptr;
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> due_;  // by file, each touched only by its taker
  alignas(128) std::atomic<std::uint64_t> next_{0};
};

/// The latency channels that read_whole_files() fills.
inline std::vector<std::string> whole_file_parts(bool objects = false) {
  if (objects) return {"first_byte", "body"};
  return {"open", "read", "close"};
}

/// Records one file that came back; it began at `begin_ns` for its requester. `recorder`: a Recorder or a
/// Batches::Lane.
template <class Record>
void record_file(const FileCompletion& file, std::uint64_t begin_ns, Record& recorder) noexcept {
  if (file.error != 0) {
    recorder.fail(OperationError{file.error, file.file, file.failed_offset, file.failed_part}, file.end_ns);
    return;
  }
  recorder.op(begin_ns, file.end_ns, file.bytes);
  if (file.opened_ns < file.read_ns) {
    recorder.part(1, file.opened_ns - file.begin_ns);
    recorder.part(2, file.read_ns - file.opened_ns);
  }
  if (file.read_ns < file.end_ns) recorder.part(3, file.end_ns - file.read_ns);
}

/// One worker's share of the queue, until it is empty or the recorder stops. `seen` is called with every completion,
/// also of a file that failed.
template <class Seen>
void read_whole_files(WholeFileReader& reader, FileQueue& queue, Recorder& recorder, Seen&& seen) {
  for (;;) {
    const auto files = recorder.running() ? queue.take(reader.free_slots()) : std::span<const std::uint32_t>{};
    const auto done = reader.exchange(files, 1);
    if (done.empty()) return;
    for (const FileCompletion& file : done) {
      seen(file);
      record_file(file, file.begin_ns, recorder);
    }
  }
}

/// The same in an open loop: a file is asked for when it is due. Without a lane, the above.
template <class Seen>
void read_whole_files(WholeFileReader& reader, FileQueue& queue, Lane* lane, Recorder& recorder, Seen&& seen) {
  if (lane == nullptr) return read_whole_files(reader, queue, recorder, seen);
  std::size_t in_flight = 0;
  for (;;) {
    const std::uint64_t now = now_ns();
    std::span<const std::uint32_t> file;  // one: the next may belong to another worker
    if (reader.free_slots() > 0 && lane->due(now)) {
      file = queue.take(1);
      if (file.empty()) lane->close();
    }
    if (!file.empty()) queue.due(file.front()) = lane->use();
    in_flight += file.size();
    if (in_flight == 0 && !lane->open()) return;
    const auto done = file.empty() ? reader.wait_until(lane->wait_until(now)) : reader.exchange(file, 0);
    in_flight -= done.size();
    for (const FileCompletion& one : done) {
      const std::uint64_t due = queue.due(one.file);
      seen(one);
      lane->ended(due, one.begin_ns, one.end_ns);
      record_file(one, due, recorder);
    }
  }
}

}  // namespace headrace
