// Warm-up cut, steady state and batch means of a time series.
#include "harness/judge/statistics/steady.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "harness/base/quantiles.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::statistics {
namespace {

constexpr double kSure = 0.995;  // two-sided 99 %: asked twice of every repetition

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> block_means(std::span<const double> values, std::size_t blocks) {
  std::vector<double> means;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t from = b * values.size() / blocks;
    const std::size_t to = (b + 1) * values.size() / blocks;
    means.push_back(mean(values.subspan(from, to - from)));
  }
  return means;
}

struct Line {
  double change = 0;          // of the fitted line from the first point to the last
  bool beyond_noise = false;  // the slope differs from 0 at 99 %
};

Line fit(std::span<const double> y) {
  const auto n = static_cast<double>(y.size());
  const double x_mean = (n - 1) / 2, y_mean = mean(y);
  double sxx = 0, sxy = 0, syy = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double dx = static_cast<double>(i) - x_mean, dy = y[i] - y_mean;
    sxx += dx * dx;
    sxy += dx * dy;
    syy += dy * dy;
  }
  const double slope = sxy / sxx;
  const double residual = std::max(0.0, syy - slope * sxy);
  const double error = std::sqrt(residual / (n - 2) / sxx);
  return {slope * (n - 1), std::abs(slope) > t_quantile(kSure, n - 2) * error};
}

bool halves_beyond_noise(std::span<const double> blocks) {
  const std::size_t half = blocks.size() / 2;
  const auto first = blocks.first(half), second = blocks.last(half);
  const double m1 = mean(first), m2 = mean(second);
  double squares = 0;
  for (const double v : first) squares += (v - m1) * (v - m1);
  for (const double v : second) squares += (v - m2) * (v - m2);
  const auto n = static_cast<double>(half);
  const double error = std::sqrt(squares / (2 * n - 2) * 2 / n);
  return std::abs(m2 - m1) > t_quantile(kSure, 2 * n - 2) * error;
}

}  // namespace

std::size_t warmup_cut(std::span<const double> values) {
  if (values.size() < 2) return 0;
  // Distances from the overall mean keep the sums of squares exact.
  const double centre = mean(values);
  double sum = 0, squares = 0;
  for (const double v : values) {
    sum += v - centre;
    squares += (v - centre) * (v - centre);
  }
  std::size_t best = 0;
  double least = INFINITY;
  for (std::size_t cut = 0; cut <= values.size() / 2; ++cut) {
    const auto n = static_cast<double>(values.size() - cut);
    const double error = std::max(0.0, squares - sum * sum / n) / (n * n);
    if (error < least) {
      least = error;
      best = cut;
    }
    const double gone = values[cut] - centre;
    sum -= gone;
    squares -= gone * gone;
  }
  return best;
}

Start differing_start(std::span<const double> values) {
  constexpr double kAsFarOut = 0.05;  // share of the rest that may be
  const std::size_t cut = warmup_cut(values);
  if (cut == 0) return {};
  const std::span<const double> rest = values.subspan(cut);
  const double start = median(values.first(cut));
  const bool slow = start < median(rest);
  const auto as_far = std::count_if(rest.begin(), rest.end(), [&](double v) { return slow ? v <= start : v >= start; });
  if (static_cast<double>(as_far) > kAsFarOut * static_cast<double>(rest.size())) return {};
  return {cut, slow};
}

Steady judge_steady(std::span<const double> values, double limit) {
  constexpr std::size_t kFewest = 8, kBlocks = 16;
  Steady result;
  const double overall = values.empty() ? 0 : mean(values);
  if (values.size() < kFewest || overall == 0) return result;
  const std::size_t half = values.size() / 2;
  const double first = median(values.first(half)), second = median(values.last(half)), all = median(values);
  result.halves_differ = all != 0 ? (second - first) / std::abs(all) : (second - first) / std::abs(overall);
  result.drift = fit(values).change / std::abs(overall);

  const std::vector<double> blocks = block_means(values, std::min(kBlocks, values.size()));
  const bool halves = std::abs(result.halves_differ) > limit && halves_beyond_noise(blocks);
  const bool drift = std::abs(result.drift) > limit && fit(blocks).beyond_noise;
  result.steady = !halves && !drift;
  if (halves) {
    result.why = fmt::format("the second half is {:.0f} % {}", 100 * std::abs(result.halves_differ),
                             result.halves_differ < 0 ? "slower" : "faster");
  } else if (drift) {
    result.why = fmt::format("the rate drifts by {:+.0f} % over the window", 100 * result.drift);
  }
  return result;
}

SingleRun batch_means(std::span<const double> values) {
  constexpr std::size_t kFewestBatches = 6, kMostBatches = 30;
  constexpr double kTimesPerBatch = 10;
  SingleRun run;
  if (values.size() < kFewestBatches) return run;
  run.mean = mean(values);
  double variance = 0;
  for (const double v : values) variance += (v - run.mean) * (v - run.mean);
  run.correlation_time = 1;
  for (std::size_t lag = 1; variance > 0 && lag < values.size() / 2; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i) sum += (values[i] - run.mean) * (values[i - lag] - run.mean);
    if (sum <= 0) break;
    run.correlation_time += 2 * sum / variance;
  }
  const auto most =
      static_cast<std::size_t>(static_cast<double>(values.size()) / (kTimesPerBatch * run.correlation_time));
  run.batches = std::min(most, kMostBatches);
  if (run.batches < kFewestBatches) return run;
  const std::vector<double> means = block_means(values, run.batches);
  const double centre = mean(means);
  double squares = 0;
  for (const double m : means) squares += (m - centre) * (m - centre);
  const auto n = static_cast<double>(run.batches);
  const double reach = t_quantile(0.975, n - 1) * std::sqrt(squares / (n - 1) / n);
  run.usable = true;
  run.low = run.mean - reach;
  run.high = run.mean + reach;
  return run;
}

}  // namespace headrace::statistics
