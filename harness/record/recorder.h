// The record of one worker during its work: operations, bytes, latencies, errors, a time series. Nothing here
// allocates, locks or makes strings between start() and finish().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "harness/base/clock.h"
#include "harness/record/histogram.h"

namespace headrace {

/// One failed operation: which file (index in the data set), where, which errno, in which part of
/// the operation.
struct OperationError {
  int code = 0;  // errno; negative ones are ours
  std::uint32_t file = 0;
  std::uint64_t offset = 0;
  std::uint8_t part = 0;                                  // as in Workload::latency_parts(); 0 = the whole operation
  std::uint8_t flaw = 0;                                  // of kBadSample: a formats::Flaw
  static constexpr int kShortRead = -1;                   // fewer bytes than the file had when the data set was opened
  static constexpr int kWrongData = -2;                   // a block with wrong content
  static constexpr int kBadSample = -3;                   // the bytes are no usable sample
  static constexpr int kChanged = -4;                     // an object is another one than was listed
  static constexpr int kRangeIgnored = -5;                // a server gave a whole object where a range was asked for
  static constexpr int kHttp = -1000;                     // less the status of HTTP that was answered: -1503
  static constexpr std::uint64_t kNoOffset = UINT64_MAX;  // of a name, not of data
};

/// Operations, bytes and coarse latency per interval. A fixed number of intervals. When they are full, neighbours are
/// merged and the interval doubles. So memory is bounded and no run is too long.
class TimeSeries {
 public:
  static constexpr std::size_t kIntervals = 512;
  static constexpr unsigned kFirstShift = 22;     // the first interval is 2^22 ns, 4.2 ms
  static constexpr std::size_t kCoarse = 8 * 36;  // 8 latency buckets per power of two, up to 2^38 ns: within 1/16

  struct Interval {
    std::uint64_t bytes = 0;
    std::uint64_t operations = 0;
    std::array<std::uint32_t, kCoarse> latency{};  // counts by coarse_bucket()
  };
  static std::size_t coarse_bucket(std::uint64_t ns) noexcept;
  static double coarse_value(std::size_t bucket) noexcept;  // [ns]

  TimeSeries();  // allocates all intervals
  /// Empties the series; time counts from `start_ns`. No operation may end before it.
  void start(std::uint64_t start_ns) noexcept;
  void add(std::uint64_t end_ns, std::uint64_t latency_ns, std::uint64_t bytes, std::uint32_t operations = 1) noexcept {
    while (end_ns >= limit_ns_) fold();
    Interval& i = intervals_[(end_ns - start_ns_) >> shift_];
    i.bytes += bytes;
    i.operations += operations;
    i.latency[coarse_bucket(latency_ns)] += operations;
  }
  std::uint64_t interval_ns() const noexcept { return std::uint64_t{1} << shift_; }
  const std::vector<Interval>& intervals() const noexcept { return intervals_; }
  /// Adds another worker's series, started at the same time; both are folded to the coarser
  /// interval.
  void merge(TimeSeries& other) noexcept;

 private:
  void fold() noexcept;
  std::vector<Interval> intervals_;
  std::uint64_t start_ns_ = 0;
  std::uint64_t limit_ns_ = 0;  // start + kIntervals * interval
  unsigned shift_ = kFirstShift;
};

/// One worker's record of one phase. Lives on its own cache lines; made before the phase, read
/// after it.
class alignas(128) Recorder {
 public:
  static constexpr unsigned kMaxParts = 8;
  static constexpr std::size_t kKeptErrors = 8;

  /// `parts`: number of extra latency channels (open, read, close...), at most kMaxParts.
  explicit Recorder(unsigned parts = 0);

  /// Called by the engine on the worker's own thread, just before the first submit. `stop` may be
  /// set at any time. `origin_ns`: where the time series of all workers begin, so that they can be
  /// merged; 0 = now.
  void start(std::uint64_t deadline_ns, const std::atomic<bool>* stop, std::uint64_t origin_ns = 0) noexcept;
  /// Called after the last completion.
  void finish() noexcept { finished_ns_ = last_ns_ > started_ns_ ? last_ns_ : now_ns(); }

  /// False once the time budget is spent or a stop was requested. Costs no clock read: it compares the end of the last
  /// operation.
  bool running() const noexcept { return last_ns_ < deadline_ns_ && !stop_->load(std::memory_order_relaxed); }

  /// When the time budget is spent [ns].
  std::uint64_t deadline_ns() const noexcept { return deadline_ns_; }

  /// One finished operation: from `begin_ns` (for open loops: the intended start) to `end_ns`,
  /// `bytes` delivered.
  void op(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint64_t bytes) noexcept {
    ops(begin_ns, end_ns, 1, bytes);
  }
  /// `count` > 0 operations that were timed together, one after the other, `bytes` in all. They are too short to read
  /// the clock after each. Their mean counts as the latency of each.
  void ops(std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t count, std::uint64_t bytes) noexcept {
    const std::uint64_t latency = (end_ns - begin_ns) / count;
    latency_.add(latency, count);
    bytes_ += bytes;
    last_ns_ = end_ns;
    series_.add(end_ns, latency, bytes, count);
    progress_bytes_.store(bytes_, std::memory_order_relaxed);
    progress_operations_.store(latency_.total(), std::memory_order_relaxed);
  }
  /// One part of an operation (part 1 is the first of Workload::latency_parts()).
  void part(unsigned number, std::uint64_t ns) noexcept { parts_[number - 1].add(ns); }
  /// Bytes that came, of an operation that is not finished yet: throughput and progress, even if it fails.
  void came(std::uint64_t end_ns, std::uint64_t bytes) noexcept {
    bytes_ += bytes;
    last_ns_ = end_ns;
    series_.add(end_ns, 0, bytes, 0);
    progress_bytes_.store(bytes_, std::memory_order_relaxed);
    progress_came_.store(++came_, std::memory_order_relaxed);
  }
  /// Something that is no operation of its own (a sync, a rename) ended here. The phase lasts at least until then.
  void extend(std::uint64_t end_ns) noexcept { last_ns_ = end_ns; }
  /// One failed operation: counted, never as throughput; the first few are kept whole.
  void fail(const OperationError& error, std::uint64_t end_ns) noexcept {
    if (errors_ < kKeptErrors) kept_[errors_] = error;
    ++errors_;
    last_ns_ = end_ns;
    progress_errors_.store(errors_, std::memory_order_relaxed);
  }

  std::uint64_t started_ns() const noexcept { return started_ns_; }
  std::uint64_t finished_ns() const noexcept { return finished_ns_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t operations() const noexcept { return latency_.total(); }
  std::uint64_t errors() const noexcept { return errors_; }
  const std::array<OperationError, kKeptErrors>& kept_errors() const noexcept { return kept_; }
  const Histogram& latency() const noexcept { return latency_; }
  const std::vector<Histogram>& parts() const noexcept { return parts_; }
  TimeSeries& series() noexcept { return series_; }
  /// Live values for the progress line and the watchdog; may lag. A failed operation is progress, and so are bytes of
  /// an unfinished one.
  std::uint64_t progress_bytes() const noexcept { return progress_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t progress_operations() const noexcept {
    return progress_operations_.load(std::memory_order_relaxed) + progress_errors_.load(std::memory_order_relaxed) +
           progress_came_.load(std::memory_order_relaxed);
  }

 private:
  std::uint64_t last_ns_ = 0, deadline_ns_ = 0, bytes_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
  std::uint64_t errors_ = 0, came_ = 0, started_ns_ = 0, finished_ns_ = 0;
  Histogram latency_;
  std::vector<Histogram> parts_;
  std::array<OperationError, kKeptErrors> kept_{};
  TimeSeries series_;
  std::atomic<std::uint64_t> progress_bytes_{0}, progress_operations_{0}, progress_errors_{0}, progress_came_{0};
};

}  // namespace headrace
