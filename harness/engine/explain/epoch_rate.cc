#include "harness/engine/explain/epoch_rate.h"

#include <algorithm>

namespace headrace::engine {
namespace {

constexpr double kWholeEpoch = 0.95;  // of the bytes
constexpr double kFewestLater = 20;   // operations
constexpr std::size_t kFewestIntervals = 2;

/// Operations per second in the second half of the time in which all workers were at work; 0: too few.
double later_rate(const PhaseResult& phase) {
  const double until_s = std::min(phase.first_finish_s != 0 ? phase.first_finish_s : phase.elapsed_s, phase.elapsed_s);
  double sum = 0;
  std::size_t count = 0;
  // The last interval is shorter, and cut off.
  for (std::size_t i = 0; i + 1 < phase.series.size(); ++i) {
    const SeriesPoint& one = phase.series[i];
    if (one.time_s < until_s / 2 || one.time_s > until_s) continue;
    sum += one.operations_per_s;
    ++count;
  }
  if (count < kFewestIntervals) return 0;
  const double rate = sum / static_cast<double>(count);
  return rate * until_s / 2 < kFewestLater ? 0 : rate;
}

}  // namespace

Estimate epoch_rate(const PhaseResult& phase, double rate, double data_bytes) {
  const Estimate whole{rate, rate, rate};
  const double part = static_cast<double>(phase.bytes) / data_bytes;  // no number or infinite where it is not known
  const double later = later_rate(phase);
  if (!(part > 0 && part < kWholeEpoch) || later == 0) return whole;
  const double ratio = later / phase.operations_per_s();
  // The part that was read took its time; the rest goes on as later samples did.
  const double epoch = 1 / (part + (1 - part) / ratio);
  return {rate * epoch, rate * std::min(1.0, ratio), rate * std::max(1.0, ratio)};
}

}  // namespace headrace::engine
