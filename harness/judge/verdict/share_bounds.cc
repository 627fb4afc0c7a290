#include "harness/judge/verdict/share_bounds.h"

#include <algorithm>

namespace headrace {

double possible(const Judgement& j, double bound) {
  const auto is_share = [](double value) { return value >= 0 && value <= 1; };
  const bool share = j.unit == "ratio" && j.measured && is_share(*j.measured) && is_share(j.need);
  return share ? std::clamp(bound, 0.0, 1.0) : bound;
}

}  // namespace headrace
