#include "harness/judge/statistics/sessions.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/base/quantiles.h"

namespace headrace::statistics {
namespace {

constexpr double kOneSided = 0.95;
constexpr double kNormalQuantile = 1.6448536269514722;  // of 95 %

SessionMean widest(std::span<const SessionMean> sessions) {
  SessionMean all = sessions.front();
  double sum = 0;
  for (const SessionMean& one : sessions) {
    sum += one.mean;
    all.low = std::min(all.low, one.low);
    all.high = std::max(all.high, one.high);
  }
  all.mean = std::clamp(sum / static_cast<double>(sessions.size()), all.low, all.high);
  return all;
}

}  // namespace

SessionMean across_sessions(std::span<const SessionMean> sessions) {
  for (const SessionMean& one : sessions)
    if (!(one.mean > 0)) return widest(sessions);
  const auto count = static_cast<double>(sessions.size());
  double mean = 0, squares = 0, below = 0, above = 0;
  for (const SessionMean& one : sessions) {
    mean += std::log(one.mean) / count;
    below += std::pow(one.low > 0 ? std::log(one.mean / one.low) : HUGE_VAL, 2);
    above += std::pow(std::log(one.high / one.mean), 2);
  }
  for (const SessionMean& one : sessions) squares += std::pow(std::log(one.mean) - mean, 2);
  const double spread = sessions.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  double down = 0, up = 0;
  if (sessions.size() >= kFewestSessions) {
    down = up = t_quantile(kOneSided, count - 1) * spread / std::sqrt(count);
  } else {
    const double between = kNormalQuantile * std::max(kAssumedSpread, spread) / std::sqrt(count);
    down = std::hypot(between, std::sqrt(below) / count);
    up = std::hypot(between, std::sqrt(above) / count);
  }
  const double middle = std::exp(mean);
  return {middle, middle * std::exp(-down), middle * std::exp(up)};
}

}  // namespace headrace::statistics
