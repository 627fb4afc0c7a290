// Do values fall into two groups? docs/explanation/fleets-and-history.md reports it to users.
#pragma once

#include <optional>
#include <span>

namespace headrace::statistics {

/// The smaller hump has that many values and so large a share of them: fewer are outliers.
inline constexpr unsigned kFewestInHump = 3;
inline constexpr double kSmallestHump = 0.25;

struct Humps {
  double below = 0, above = 0;  // the gap between them: highest of the low, lowest of the high
};

/// The cut that explains most of the squares, when it explains more than humps_limit() of them. One hump is cut in two
/// in 1 of 1,000 normal samples, or of 100 uniform ones. Simulated with 8 to 1,000 values.
std::optional<Humps> two_humps(std::span<const double> values);

/// 0.75 + 0.6 / sqrt(count).
double humps_limit(std::size_t count);

}  // namespace headrace::statistics
