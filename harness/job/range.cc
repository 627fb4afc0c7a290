// Ranges: the check and its words.
#include "harness/job/range.h"

#include <cmath>

namespace headrace::job {

bool Range::allows(double value) const {
  if (!std::isfinite(value)) return false;
  if (value < min || (min_excluded && value == min)) return false;
  if (value > max || (max_excluded && value == max)) return false;
  return !integer || value == std::floor(value);
}

std::string Range::text(Dimension dimension) const {
  const std::string kind = integer ? "a whole number, " : "";
  const std::string low = compact_quantity(min, dimension), high = compact_quantity(max, dimension);
  if (min == max) return low;
  if (max >= 1e15) return kind + (min_excluded ? "above " : "at least ") + low;
  if (!min_excluded && !max_excluded) return kind + low + ".." + high;
  return kind + (min_excluded ? "above " : "at least ") + low + " and " + (max_excluded ? "below " : "at most ") + high;
}

}  // namespace headrace::job
