// Merging and reading of latency histograms; recording itself is inline in the header.
#include "harness/record/histogram.h"

#include <algorithm>
#include <cmath>

namespace headrace {

double Histogram::value_of(std::size_t bucket) noexcept {
  if (bucket < kSub) return static_cast<double>(bucket);
  const auto shift = static_cast<int>(bucket >> kSubBits) - 1;
  const std::uint64_t low = (kSub + (bucket & (kSub - 1))) << shift;
  const std::uint64_t width = std::uint64_t{1} << shift;
  return static_cast<double>(low) + static_cast<double>(width - 1) / 2;
}

void Histogram::merge(const Histogram& other) noexcept {
  for (std::size_t b = 0; b < kBuckets; ++b) counts_[b] += other.counts_[b];
  total_ += other.total_;
  max_ = std::max(max_, other.max_);
  min_ = std::min(min_, other.min_);
}

void Histogram::clear() noexcept { *this = Histogram{}; }

double Histogram::mean_ns() const noexcept {
  if (total_ == 0) return 0;
  double sum = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    if (counts_[b] != 0) sum += static_cast<double>(counts_[b]) * value_of(b);
  }
  return sum / static_cast<double>(total_);
}

double Histogram::percentile(double p) const noexcept {
  if (total_ == 0) return 0;
  const double wanted = std::ceil(std::clamp(p, 0.0, 1.0) * static_cast<double>(total_));
  if (wanted >= static_cast<double>(total_)) return static_cast<double>(max_);
  const std::uint64_t rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    seen += counts_[b];
    if (seen >= rank) {
      return std::clamp(value_of(b), static_cast<double>(min_), static_cast<double>(max_));
    }
  }
  return static_cast<double>(max_);
}

std::vector<Histogram::Bucket> Histogram::nonzero() const {
  std::vector<Bucket> buckets;
  for (std::size_t b = 0; b < kBuckets; ++b) {
    if (counts_[b] != 0) buckets.push_back({static_cast<std::uint32_t>(b), counts_[b]});
  }
  return buckets;
}

Histogram Histogram::from(const std::vector<Bucket>& buckets, std::uint64_t min_ns, std::uint64_t max_ns) {
  Histogram h;
  std::size_t first = kBuckets, last = 0;
  for (const Bucket& b : buckets) {
    if (b.count == 0 || b.index >= kBuckets) continue;
    h.counts_[b.index] += b.count;
    h.total_ += b.count;
    first = std::min<std::size_t>(first, b.index);
    last = std::max<std::size_t>(last, b.index);
  }
  if (h.total_ == 0) return h;
  h.min_ = min_ns != 0 || max_ns != 0 ? min_ns : static_cast<std::uint64_t>(value_of(first));
  h.max_ = max_ns != 0 ? max_ns : static_cast<std::uint64_t>(value_of(last));
  return h;
}

}  // namespace headrace
