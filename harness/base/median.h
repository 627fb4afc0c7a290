// The middle of a set of numbers.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace headrace::statistics {

/// The median of at least one value, which are reordered.
inline double median_in_place(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle : (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// The median; 0 of no value.
inline double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return copy.empty() ? 0 : median_in_place(copy);
}

}  // namespace headrace::statistics
