// The possible losses of a part of the fabric, as shares of its rate: a grid, finer where it matters.
#pragma once

#include <array>
#include <cstddef>

namespace headrace::bringup {

/// Healthy parts differ by up to 1 %; 5 % and more is a loss that must not be missed (delta). A loss in between is
/// reported, and neither accused nor cleared.
inline constexpr std::array<double, 14> kLosses{0,     0.01, 0.02, 0.03, 0.04, 0.05, 0.06,
                                                0.075, 0.1,  0.14, 0.2,  0.3,  0.5,  0.9};
inline constexpr std::size_t kHealthy = 2;  // that many of them are healthy
inline constexpr std::size_t kBad = 5;      // from here on they are bad
inline constexpr double kDelta = kLosses[kBad];

/// One number for each loss of the grid: a probability, a likelihood.
using Weights = std::array<double, kLosses.size()>;

inline double healthy(const Weights& probability) {
  double sum = 0;
  for (std::size_t i = 0; i < kHealthy; ++i) sum += probability[i];
  return sum;
}
inline double bad(const Weights& probability) {
  double sum = 0;
  for (std::size_t i = kBad; i < kLosses.size(); ++i) sum += probability[i];
  return sum;
}
/// The loss that is expected.
inline double mean_loss(const Weights& probability) {
  double sum = 0;
  for (std::size_t i = 0; i < kLosses.size(); ++i) sum += probability[i] * kLosses[i];
  return sum;
}

}  // namespace headrace::bringup
