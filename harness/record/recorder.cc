// The parts of recording that are not on the hot path: starting, folding and merging.
#include "harness/record/recorder.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

namespace headrace {
namespace {
constexpr int kCoarseBits = 3;
constexpr std::uint64_t kCoarseSub = 1u << kCoarseBits;

void add_interval(TimeSeries::Interval& to, const TimeSeries::Interval& from) noexcept {
  to.bytes += from.bytes;
  to.operations += from.operations;
  if (from.operations == 0) return;
  for (std::size_t b = 0; b < TimeSeries::kCoarse; ++b) to.latency[b] += from.latency[b];
}
}  // namespace

std::size_t TimeSeries::coarse_bucket(std::uint64_t ns) noexcept {
  if (ns < kCoarseSub) return static_cast<std::size_t>(ns);
  const int shift = std::bit_width(ns) - 1 - kCoarseBits;
  const auto bucket =
      static_cast<std::size_t>((static_cast<std::uint64_t>(shift + 1) << kCoarseBits) + ((ns >> shift) - kCoarseSub));
  return std::min(bucket, kCoarse - 1);
}

double TimeSeries::coarse_value(std::size_t bucket) noexcept {
  if (bucket < kCoarseSub) return static_cast<double>(bucket);
  const auto shift = static_cast<int>(bucket >> kCoarseBits) - 1;
  const std::uint64_t low = (kCoarseSub + (bucket & (kCoarseSub - 1))) << shift;
  return static_cast<double>(low) + static_cast<double>((std::uint64_t{1} << shift) - 1) / 2;
}

TimeSeries::TimeSeries() : intervals_(kIntervals) {}

void TimeSeries::start(std::uint64_t start_ns) noexcept {
  std::fill(intervals_.begin(), intervals_.end(), Interval{});
  start_ns_ = start_ns;
  shift_ = kFirstShift;
  limit_ns_ = start_ns_ + (kIntervals << shift_);
}

void TimeSeries::fold() noexcept {
  for (std::size_t i = 0; i < kIntervals / 2; ++i) {
    if (i != 0) intervals_[i] = intervals_[2 * i];
    add_interval(intervals_[i], intervals_[2 * i + 1]);
  }
  std::fill(intervals_.begin() + kIntervals / 2, intervals_.end(), Interval{});
  ++shift_;
  limit_ns_ = start_ns_ + (kIntervals << shift_);
}

void TimeSeries::merge(TimeSeries& other) noexcept {
  while (shift_ < other.shift_) fold();
  while (other.shift_ < shift_) other.fold();
  for (std::size_t i = 0; i < kIntervals; ++i) add_interval(intervals_[i], other.intervals_[i]);
}

Recorder::Recorder(unsigned parts) : parts_(parts) {
  if (parts > kMaxParts) {
    std::fprintf(stderr, "%s:%d: a workload has %u latency parts, at most %u are kept\n", __FILE__, __LINE__, parts,
                 kMaxParts);
    std::abort();
  }
}

void Recorder::start(std::uint64_t deadline_ns, const std::atomic<bool>* stop, std::uint64_t origin_ns) noexcept {
  deadline_ns_ = deadline_ns;
  stop_ = stop;
  started_ns_ = now_ns();
  last_ns_ = started_ns_;
  series_.start(origin_ns != 0 ? origin_ns : started_ns_);
}

}  // namespace headrace
