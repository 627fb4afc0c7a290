// Latency histogram: log-linear buckets, mergeable, every value within 0.8 % of its bucket's
// middle.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace {

/// Counts of nanoseconds. Values below 64 ns are exact. Above, each power of two has 64 buckets. The bucket's middle
/// differs from any value in it by at most 1/128 (0.79 %). Values of 2^42 ns (73 min) and more count in the last
/// bucket. Adding costs one increment; nothing is allocated after construction.
class Histogram {
 public:
  static constexpr int kSubBits = 6;
  static constexpr std::uint64_t kSub = 1u << kSubBits;
  static constexpr int kMaxBits = 42;
  static constexpr std::size_t kBuckets = kSub * (kMaxBits - kSubBits + 1);
  /// Largest relative difference between a recorded value and the result of percentile() for it.
  static constexpr double kRelativeError = 1.0 / (2 * kSub);

  static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
    if (ns < kSub) return static_cast<std::size_t>(ns);
    const int top = std::bit_width(ns) - 1;  // >= kSubBits
    if (top >= kMaxBits) return kBuckets - 1;
    const int shift = top - kSubBits;
    return static_cast<std::size_t>((static_cast<std::uint64_t>(shift + 1) << kSubBits) + ((ns >> shift) - kSub));
  }
  /// The middle of a bucket [ns].
  static double value_of(std::size_t bucket) noexcept;

  void add(std::uint64_t ns, std::uint64_t times = 1) noexcept {
    counts_[bucket_of(ns)] += times;
    total_ += times;
    if (ns > max_) max_ = ns;
    if (ns < min_) min_ = ns;
  }
  void merge(const Histogram& other) noexcept;
  void clear() noexcept;

  std::uint64_t total() const noexcept { return total_; }
  std::uint64_t max_ns() const noexcept { return max_; }
  std::uint64_t min_ns() const noexcept { return total_ ? min_ : 0; }
  double mean_ns() const noexcept;
  /// The latency [ns] that a share `p` (0..1) of the operations did not exceed; 0 when empty; at
  /// most max_ns().
  double percentile(double p) const noexcept;

  struct Bucket {
    std::uint32_t index;
    std::uint64_t count;
  };
  /// The buckets that are not empty, in order, as a run file stores them.
  std::vector<Bucket> nonzero() const;
  /// Rebuilds the histogram from nonzero() (both 0: minimum and maximum become bucket middles). Unknown indices are
  /// ignored.
  static Histogram from(const std::vector<Bucket>& buckets, std::uint64_t min_ns, std::uint64_t max_ns);

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t min_ = UINT64_MAX;
};

}  // namespace headrace
