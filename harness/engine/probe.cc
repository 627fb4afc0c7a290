#include "harness/engine/probe.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/record/recorder.h"

namespace headrace::engine {
namespace {

constexpr int kSlices = 8;
constexpr int kRetries = 4;
constexpr std::size_t kCopied = 128 << 10;  // [B]; both ends together fit a second level cache

/// Keeps this thread on one processor while it lives.
class Pinned {
 public:
  Pinned() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    for (int cpu = 0; cpu < CPU_SETSIZE && !pinned_; ++cpu) {
      if (!CPU_ISSET(cpu, &before_)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
      if (!pinned_) return;
    }
  }
  ~Pinned() {
    if (pinned_) sched_setaffinity(0, sizeof before_, &before_);
  }
  Pinned(const Pinned&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

/// One slice of the work [ns].
std::uint64_t slice(unsigned char* from, unsigned char* to) {
  const std::uint64_t begin = now_ns();
  std::uint64_t value = from[0] | 1u;
  for (int i = 0; i < 250'000; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  for (int i = 0; i < 32; ++i) {
    std::memcpy(to, from, kCopied);
    asm volatile("" : : "r"(to) : "memory");  // copied every time
  }
  const std::uint64_t end = now_ns();
  from[0] = static_cast<unsigned char>(value);
  return end - begin;
}

}  // namespace

double take_probe() {
  const Pinned pinned;
  std::vector<unsigned char> from(kCopied, 1), to(kCopied, 2);
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < kSlices; ++i) least = std::min(least, slice(from.data(), to.data()));
  return static_cast<double>(least);
}

double take_probe_after(double before) {
  double after = take_probe();
  for (int i = 0; i < kRetries && std::abs(probe_drift(before, after)) > kProbeDrift; ++i) {
    const double again = take_probe();
    if (std::abs(probe_drift(before, again)) < std::abs(probe_drift(before, after))) after = again;
  }
  return after;
}

double probe_drift(double before_ns, double after_ns) {
  return before_ns > 0 && after_ns > 0 ? after_ns / before_ns - 1 : 0;
}

}  // namespace headrace::engine
