#include "harness/analysis/comparison/latency_shift.h"

#include <algorithm>
#include <array>

namespace headrace::comparison {

void compare_latency(const Joined& j, Pair& pair) {
  static constexpr std::array kShares = {0.01, 0.05, 0.1,  0.2,  0.3,   0.4,   0.5,   0.6,    0.7,   0.8,
                                         0.9,  0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999};
  for (const results::StoredLatency& a : j.base_point().latency) {
    for (const results::StoredLatency& b : j.other_point().latency) {
      if (a.phase != b.phase || a.part != b.part) continue;
      LatencyShift shift{j.base_point().workload, j.base_point().id,  j.other_point().id, a.phase, a.part, {}, {}, {},
                         a.histogram.total(),     b.histogram.total()};
      const double fewest = static_cast<double>(std::min(shift.base_operations, shift.other_operations));
      for (const double share : kShares) {
        if (fewest * (1 - share) < 10) break;  // rule 20
        shift.probability.push_back(share);
        shift.base_ns.push_back(a.histogram.percentile(share));
        shift.other_ns.push_back(b.histogram.percentile(share));
      }
      if (!shift.probability.empty()) pair.latency.push_back(std::move(shift));
    }
  }
}

}  // namespace headrace::comparison
