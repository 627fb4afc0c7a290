// The differences in comparisons of a system when nothing has changed.
#pragma once

#include <string>

namespace headrace {

/// From a run of `headrace run --against-itself`.
struct NoiseFloor {
  std::string source;                       // its aa.json
  double median = 0, false_alarm_rate = 0;  // over all metrics; shares
};

}  // namespace headrace
