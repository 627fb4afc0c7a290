// The allowed range of a number, and its words for messages and documentation.
#pragma once

#include <string>

#include "harness/base/units.h"

namespace headrace::job {

struct Range {
  double min = 0;
  double max = 1e300;
  bool min_excluded = false;
  bool max_excluded = false;
  bool integer = false;

  /// Finite, and within the bounds.
  bool allows(double value) const;
  /// "0..1", "above 0 s", "a whole number, at least 1". Bounds from 1e15 on are practically none
  /// and not reported.
  std::string text(Dimension dimension) const;
};

}  // namespace headrace::job
