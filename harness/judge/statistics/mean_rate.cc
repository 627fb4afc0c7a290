#include "harness/judge/statistics/mean_rate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "harness/base/quantiles.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::statistics {
namespace {

/// Beyond that many the limits of long series are as good.
constexpr std::size_t kExactUpTo = 200;

/// The loss of the mean over time (its logarithm) by stalls in this share of repetitions. Each repetition does a given
/// amount of work. Those of a given length lose less.
double stall_loss(double share) { return std::log(1 - share + share / (1 - kStallDepth)); }

/// The effect of correlation on the squared standard error of a mean. It is the factor by which the usual one is too
/// small. Also its degrees of freedom (Satterthwaite).
struct Widened {
  double times = 1, freedom = 1;
};

Widened widened(std::size_t n, double correlation) {
  const auto count = static_cast<double>(n);
  if (n > kExactUpTo) {
    const double square = correlation * correlation;
    return {(1 + correlation) / (1 - correlation), count * (1 - square) / (1 + square)};
  }
  std::vector<double> powers(n, 1), row(n, 0);
  for (std::size_t i = 1; i < n; ++i) powers[i] = powers[i - 1] * correlation;
  const auto covariance = [&powers](std::size_t i, std::size_t j) { return powers[i > j ? i - j : j - i]; };
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) row[i] += covariance(i, j) / count;
  const double of_mean = std::accumulate(row.begin(), row.end(), 0.0) / count;
  // The sum of squares about the mean is the quadratic form of the covariances, centred both ways.
  double squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const double centred = covariance(i, j) - row[i] - row[j] + of_mean;
      squares += centred * centred;
    }
  }
  const double expected = count * (1 - of_mean);  // of the sum of squares
  return {of_mean * count * (count - 1) / expected, expected * expected / squares};
}

}  // namespace

double correlated_t(std::size_t n, double alpha, double correlation) {
  // The same few are asked for again and again: at each look, for each need.
  thread_local std::map<std::tuple<std::size_t, double, double>, double> known;
  const auto [at, is_new] = known.try_emplace({n, alpha, correlation}, 0);
  if (is_new) {
    const Widened w = widened(n, correlation);
    at->second = std::sqrt(w.times) * t_quantile(1 - alpha, std::max(1.0, w.freedom));
  }
  return at->second;
}

Alike alike(std::span<const double> values) {
  constexpr std::size_t kFewest = 5;
  if (values.size() < kFewest) return {};
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
    if (i > 0) products += (values[i] - mean) * (values[i - 1] - mean);
  }
  if (squares == 0) return {};
  const double first = products / squares;
  return {std::clamp(first + (1 + 4 * first) / n, -1.0, 1.0), first > -1 / n + 1.645 / std::sqrt(n)};
}

Bounded mean_rate(std::span<const double> rates, std::span<const double> seconds, double alpha) {
  const auto n = static_cast<double>(rates.size());
  double work = 0, time = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    work += rates[i] * seconds[i];
    time += seconds[i];
  }
  Bounded mean{work / time, work / time, work / time};
  if (mean.value <= 0) return mean;
  double squares = 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const double off = (rates[i] / mean.value - 1) * seconds[i] * n / time;
    squares += off * off;
  }
  const double error = std::sqrt(squares / (n - 1) / n);
  const double reach = correlated_t(rates.size(), alpha) * error;
  // Independent repetitions would have shown a stall with a chance of 1 - (1 - share)^n.
  constexpr std::size_t kMany = 15;
  const double share = rates.size() < kMany ? 2 * kStallShare : kStallShare;
  const bool may_hide = std::pow(1 - share, n) > alpha;
  const double hidden = may_hide ? stall_loss(share) + correlated_t(rates.size(), alpha, 0) * error : 0;
  // A repetition that gave nothing has no logarithm.
  const bool stood_still = std::ranges::any_of(rates, [](double rate) { return rate <= 0; });
  const double below = std::max(reach, hidden);
  mean.low = mean.value * (stood_still ? std::max(0.0, 1 - below) : std::exp(-below));
  mean.high = mean.value * (stood_still ? 1 + reach : std::exp(reach));
  return mean;
}

Bounded median_bounds(std::span<const double> values, unsigned rank, double alpha) {
  const Bounds order = order_bounds(values, rank);
  Bounded all{median(values), order.low, order.high};
  if (values.size() < 2) return all;
  const bool logs = std::all_of(values.begin(), values.end(), [](double v) { return v > 0; });
  std::vector<double> scaled(values.begin(), values.end());
  if (logs)
    for (double& v : scaled) v = std::log(v);
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(scaled.begin(), scaled.end(), 0.0) / n;
  double squares = 0;
  for (const double v : scaled) squares += (v - mean) * (v - mean);
  const double reach = correlated_t(values.size(), alpha) * std::sqrt(squares / (n - 1) / n);
  all.low = std::min(all.low, logs ? all.value * std::exp(-reach) : all.value - reach);
  all.high = std::max(all.high, logs ? all.value * std::exp(reach) : all.value + reach);
  return all;
}

}  // namespace headrace::statistics
