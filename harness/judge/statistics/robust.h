// Statistics that a few outliers do not change (rule F4). docs/explanation/fleets-and-history.md reports it to users.
#pragma once

#include <span>

namespace headrace::statistics {

/// Beyond that many robust standard deviations a value is no part of the others.
inline constexpr double kOutlierLimit = 3.5;
/// The least relative spread: values that are all but equal make no outliers of the rest.
inline constexpr double kSpreadFloor = 0.005;
/// Fewer values do not show the usual one.
inline constexpr unsigned kFewestAlike = 8;

/// Middle and spread: median, and 1.4826 times the median absolute deviation from it, at least
/// kSpreadFloor of the median.
struct Robust {
  double median = 0, spread = 0;

  double z(double value) const { return spread > 0 ? (value - median) / spread : 0; }
};

/// For at least one value.
Robust robust(std::span<const double> values);

}  // namespace headrace::statistics
