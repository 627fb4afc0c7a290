#include "harness/judge/statistics/comparison.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "harness/base/quantiles.h"
#include "harness/judge/statistics/draws.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::statistics {
namespace {

constexpr double kPower = 0.9;
constexpr double kMostFreedom = 1e4;  // Student's t is the normal distribution by then
/// Variance of a median over that of a mean, of normal noise; heavier tails make it smaller.
constexpr double kMedianOverMean = std::numbers::pi / 2;

struct Moments {
  double mean = 0, variance = 0;  // of one value
  double count = 0;
};

Moments moments(std::span<const double> values) {
  Moments m;
  m.count = static_cast<double>(values.size());
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / m.count;
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / (m.count - 1);
  return m;
}

/// The logarithms; nothing when a value has none.
std::optional<std::vector<double>> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  for (const double v : values) {
    if (!(v > 0) || !std::isfinite(v)) return std::nullopt;
    logs.push_back(std::log(v));
  }
  return logs;
}

/// An estimate on the scale of logarithms: its value, standard error and degrees of freedom.
RatioEstimate from_logarithm(double value, double error, double freedom, double level) {
  const double t = t_quantile((1 + level) / 2, freedom);
  RatioEstimate e;
  e.ratio = std::exp(value);
  e.low = std::exp(value - t * error);
  e.high = std::exp(value + t * error);
  e.half_width = t * error;
  e.margin = t_quantile(kPower, freedom) * error;
  // Without any scatter a difference is certain, and none is none.
  e.p = error > 0 ? 2 * t_probability(-std::abs(value) / error, freedom) : value == 0 ? 1 : 0;
  return e;
}

Change direction(double ratio, Better better) {
  if (better == Better::neither) return Change::differs;
  return (ratio > 1) == (better == Better::higher) ? Change::better : Change::worse;
}

}  // namespace

double smallest_called(const RatioEstimate& e, double delta) {
  return std::expm1(std::max(e.half_width, std::log1p(delta)) + e.margin);
}

RatioEstimate compare_facts(double a, double b) {
  const double ratio = b / a;
  return {.ratio = ratio, .low = ratio, .high = ratio, .p = ratio == 1 ? 1.0 : 0.0};
}

std::optional<RatioEstimate> compare_blocks(std::span<const double> a, std::span<const double> b, double level) {
  const std::size_t blocks = std::min(a.size(), b.size());
  if (blocks < 2) return std::nullopt;
  const auto before = logarithms(a.first(blocks)), after = logarithms(b.first(blocks));
  if (!before || !after) return std::nullopt;
  std::vector<double> ratios(blocks);
  for (std::size_t i = 0; i < blocks; ++i) ratios[i] = (*after)[i] - (*before)[i];
  const Moments m = moments(ratios);
  return from_logarithm(m.mean, std::sqrt(m.variance / m.count), m.count - 1, level);
}

SessionSpread session_spread(std::span<const double> medians) {
  const auto logs = logarithms(medians);
  if (!logs || logs->size() < kFewestSessions) return {};
  return {std::sqrt(moments(*logs).variance), static_cast<unsigned>(logs->size())};
}

std::optional<RatioEstimate> compare_stored(std::span<const double> a, std::span<const double> b,
                                            const SessionSpread& history, double level) {
  if (a.size() < 2 || b.size() < 2) return std::nullopt;
  const auto before = logarithms(a), after = logarithms(b);
  if (!before || !after) return std::nullopt;
  const double value = std::log(median(b) / median(a));
  const Moments ma = moments(*before), mb = moments(*after);
  const double va = kMedianOverMean * ma.variance / ma.count, vb = kMedianOverMean * mb.variance / mb.count;
  const double within = va + vb;
  const double terms = va * va / (ma.count - 1) + vb * vb / (mb.count - 1);
  const double welch = terms > 0 ? within * within / terms : ma.count + mb.count - 2;
  // Both runs are sessions of their own. Variation within one is in the past medians too, and counted twice, which errs
  // on the side of caution.
  const auto between_both = [](double spread) { return 2 * spread * spread; };
  if (history.sessions == 0) {
    // Assumed, not estimated: only variation within the runs costs degrees of freedom.
    const double all = within + between_both(kAssumedSpread);
    const double freedom = terms > 0 ? all * all / terms : kMostFreedom;
    return from_logarithm(value, std::sqrt(all), std::min(freedom, kMostFreedom), level);
  }
  const double between = between_both(history.spread);
  const double freedom = between > within ? history.sessions - 1.0 : std::min(welch, history.sessions - 1.0);
  return from_logarithm(value, std::sqrt(within + between), freedom, level);
}

Change classify(const RatioEstimate& e, double delta, Better better) {
  const bool excludes_one = e.low > 1 || e.high < 1;
  if (excludes_one && std::abs(std::log(e.ratio)) > std::log1p(delta)) return direction(e.ratio, better);
  if (excludes_one) return Change::small;
  return e.low >= 1 / (1 + delta) && e.high <= 1 + delta ? Change::same : Change::inconclusive;
}

std::vector<bool> stand_out(std::span<const double> p, double rate) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p[x] < p[y]; });
  std::size_t last = 0;  // how many of the smallest are significant
  for (std::size_t i = 0; i < order.size(); ++i)
    if (p[order[i]] <= rate * static_cast<double>(i + 1) / static_cast<double>(p.size())) last = i + 1;
  std::vector<bool> out(p.size(), false);
  for (std::size_t i = 0; i < last; ++i) out[order[i]] = true;
  return out;
}

double noise_floor(std::span<const double> log_ratios) {
  const Moments m = moments(log_ratios);
  const double t = t_quantile((1 + kBlockLevel) / 2, kFirstLook - 1);
  return std::expm1(t * std::sqrt(m.variance / kFirstLook));
}

double false_alarm_rate(std::span<const double> log_ratios, double delta, std::uint64_t seed) {
  constexpr int kTries = 2000;
  const double t = t_quantile((1 + kBlockLevel) / 2, kFirstLook - 1);
  Draws draws(seed);
  int alarms = 0;
  for (int i = 0; i < kTries; ++i) {
    double blocks[kFirstLook];
    for (double& block : blocks) {
      block = log_ratios[draws.below(log_ratios.size())];
      if (draws.below(2) == 1) block = -block;
    }
    const Moments m = moments(blocks);
    const double error = std::sqrt(m.variance / m.count);
    alarms += std::abs(m.mean) > t * error && std::abs(m.mean) > std::log1p(delta);
  }
  return static_cast<double>(alarms) / kTries;
}

}  // namespace headrace::statistics
