#include "harness/collective_fit.h"

#include <algorithm>
#include <cmath>

namespace headrace {

std::optional<CollectiveFit> fit_collective(const std::vector<std::pair<double, double>>& times) {
  if (times.size() < 3) return std::nullopt;
  // Errors relative to the time, so that small messages count as much as large ones: weights 1/t^2.
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const auto& [bytes, seconds] : times) {
    if (!(seconds > 0)) return std::nullopt;
    const double weight = 1 / (seconds * seconds);
    w += weight;
    wx += weight * bytes;
    wy += weight * seconds;
    wxx += weight * bytes * bytes;
    wxy += weight * bytes * seconds;
  }
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  if (!std::isfinite(slope) || slope <= 0) return std::nullopt;
  return CollectiveFit{std::max(0.0, (wy - slope * wx) / w), 1 / slope};
}

RingModel ring_model(const CollectiveFit& fit, unsigned n) {
  const double hops = 2.0 * (n - 1);
  return {fit.fixed_s / hops, fit.bytes_per_s * hops / n};
}

std::optional<GradientStep> gradient_step(const RingModel& model, const requirements::Job& job,
                                          double bucket) {
  const double n = job.replicas() * job.parallelism.context;
  if (n <= 1 || !job.model.parameters || !(job.step.time > 0)) return std::nullopt;
  const double bytes = *job.model.parameters / (job.parallelism.tensor * job.parallelism.pipeline) *
                       job.model.gradient_bytes;
  GradientStep step;
  step.ranks = n;
  step.buckets = std::max(1.0, std::ceil(bytes / bucket));
  // F3, bucket by bucket: 2(n-1) alpha + 2(n-1)/n S/B.
  step.time_s = 2 * (n - 1) * (step.buckets * model.alpha_s + bytes / n / model.link_bytes_per_s);
  const double hidden = job.parallelism.overlap * job.parallelism.window * job.step.time;
  step.exposed_s = std::max(0.0, step.time_s - hidden);
  return step;
}

}  // namespace headrace
