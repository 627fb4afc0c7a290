// How far the sessions of one configuration on one machine lie apart, from past runs of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/analysis/comparison/join.h"

namespace headrace::comparison {

class PastSessions {
 public:
  PastSessions() = default;  // none are known
  /// Of `history`, the runs of `base`'s configuration and fingerprint; they must stay where they are. `across`:
  /// parameters that do not distinguish points.
  PastSessions(const results::StoredRun& base, std::span<const results::StoredRun> history,
               std::span<const std::string> across = {});

  /// How far apart lies what they gave of the metric; unproven and mostly disturbed ones are left out.
  statistics::SessionSpread of(const results::PointKey& point, const std::string& metric,
                               double (*gave)(const results::StoredMetric&)) const;

 private:
  PointIndex points_;
};

}  // namespace headrace::comparison
