// Latency and bandwidth of a collective from its times at several sizes, and what they mean for a
// job.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/requirements/job.h"

namespace headrace {

/// t = fixed_s + bytes / bytes_per_s.
struct CollectiveFit {
  double fixed_s = 0;
  double bytes_per_s = 0;
};

/// Least squares of relative errors over (message size [B], time [s]); at least three sizes, else
/// nothing, and nothing when larger messages do not take longer.
std::optional<CollectiveFit> fit_collective(const std::vector<std::pair<double, double>>& times);

/// Of an all-reduce of `n` ranks as a ring (formula F3): latency of a hop [s], and bytes/s of each
/// rank's link.
struct RingModel {
  double alpha_s = 0;
  double link_bytes_per_s = 0;
};
RingModel ring_model(const CollectiveFit& fit, unsigned n);

/// What the gradients of a job cost per step by that model, in buckets of `bucket` bytes: with the
/// job's own group (F3), and how much of it the backward pass does not hide. Nothing for jobs
/// without a group or without a model.
struct GradientStep {
  double ranks = 0;
  double buckets = 0;
  double time_s = 0;     // of all buckets, one after the other
  double exposed_s = 0;  // longer than overlap * window * step
};
std::optional<GradientStep> gradient_step(const RingModel& model, const requirements::Job& job,
                                          double bucket);

}  // namespace headrace
