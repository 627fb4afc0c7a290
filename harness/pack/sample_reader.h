// Reads and encodes samples on several threads, and hands them over in their order.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "harness/pack/encoder.h"

namespace headrace::pack {

/// Threads read ahead until kAhead bytes, or kSlots samples, wait to be taken. The one that is wanted next is always
/// read.
class SampleReader {
 public:
  /// `order`: numbers of samples, those that are wanted, in turn. Throws RunError where no thread can be started.
  SampleReader(const ImageFolder& from, std::span<const std::uint32_t> order, const Encoding& as);
  ~SampleReader();
  SampleReader(const SampleReader&) = delete;

  /// The next one, in place of the content of `into`, whose memory is used again. Throws the error of its reading.
  void next(std::string& into);

 private:
  static constexpr std::uint64_t kAhead = 128 << 20;
  static constexpr std::size_t kSlots =
      128;  // few, so that their memory, used in turn, stays in the processor's caches
  static constexpr unsigned kThreads = 16;

  struct Slot {
    std::string bytes;
    std::exception_ptr failed;
    bool ready = false;
  };
  void read_all();

  const ImageFolder& from_;
  const std::span<const std::uint32_t> order_;
  const Encoding& as_;
  std::mutex mutex_;
  std::condition_variable ready_, room_;
  std::vector<Slot> slots_;            // a ring
  std::size_t begun_ = 0, taken_ = 0;  // of order_
  std::uint64_t ahead_ = 0;            // bytes of files that are begun and not taken
  bool stop_ = false;
  std::vector<std::jthread> threads_;  // the last: they use all others
};

}  // namespace headrace::pack
