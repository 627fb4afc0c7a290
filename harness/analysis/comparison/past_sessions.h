// The spread of the sessions of one configuration on one machine, from past runs of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analysis/comparison/join.h"

namespace headrace::comparison {

class PastSessions {
 public:
  PastSessions() = default;  // none are known
  /// The runs in `history` with the configuration and fingerprint of `base`; they must stay where they are. `across`:
  /// parameters that do not distinguish points.
  PastSessions(const results::StoredRun& base, std::span<const results::StoredRun> history,
               std::span<const std::string> across = {});

  /// The spread of the metric among them; unproven and mostly disturbed ones are left out.
  statistics::SessionSpread of(const results::PointKey& point, const std::string& metric,
                               double (*gave)(const results::StoredMetric&)) const;

 private:
  PointIndex points_;
};

}  // namespace headrace::comparison
