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
#include "harness/random.h"
#include "harness/recorder.h"

namespace headrace {

/// The files of one phase in a seeded random order without replacement, handed to whoever is free,
/// so that all workers end at the same time.
class FileQueue {
 public:
  /// Untimed.
  void fill(std::uint32_t files, std::uint64_t seed) {
    order_.resize(files);
    std::iota(order_.begin(), order_.end(), 0u);
    Random random(seed);
    shuffle(std::span(order_), random);
    next_ = 0;
  }
  /// At most `most` files; none when all are taken.
  std::span<const std::uint32_t> take(unsigned most) noexcept {
    const std::uint64_t at = next_.fetch_add(most, std::memory_order_relaxed);
    if (at >= order_.size()) return {};
    return std::span(order_).subspan(at, std::min<std::uint64_t>(most, order_.size() - at));
  }

 private:
  std::vector<std::uint32_t> order_;
  alignas(128) std::atomic<std::uint64_t> next_{0};
};

/// The latency channels that read_whole_files() fills.
inline std::vector<std::string> whole_file_parts() { return {"open", "read", "close"}; }

/// One worker's share of the queue, until it is empty or the recorder says stop. `seen` is called
/// with every completion, also of a file that failed.
template <class Seen>
void read_whole_files(WholeFileReader& reader, FileQueue& queue, Recorder& recorder, Seen&& seen) {
  for (;;) {
    const auto files =
        recorder.running() ? queue.take(reader.free_slots()) : std::span<const std::uint32_t>{};
    const auto done = reader.exchange(files, 1);
    if (done.empty()) return;
    for (const FileCompletion& file : done) {
      seen(file);
      if (file.error != 0) {
        recorder.fail({file.error, file.file, file.failed_offset, file.failed_part}, file.end_ns);
        continue;
      }
      recorder.op(file.begin_ns, file.end_ns, file.bytes);
      if (file.opened_ns < file.read_ns) {
        recorder.part(1, file.opened_ns - file.begin_ns);
        recorder.part(2, file.read_ns - file.opened_ns);
      }
      if (file.read_ns < file.end_ns) recorder.part(3, file.end_ns - file.read_ns);
    }
  }
}

}  // namespace headrace
