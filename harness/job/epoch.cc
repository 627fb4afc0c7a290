#include "harness/job/epoch.h"

#include <algorithm>
#include <cmath>

#include "harness/job/formula.h"

namespace headrace::job {

std::optional<double> epoch_steps_of(const Job& job) {
  const double batch = job.step.micro_batch * job.step.accumulation * job.replicas();
  if (!job.dataset.samples || batch <= 0) return std::nullopt;
  const double steps = std::floor(*job.dataset.samples / batch);
  return steps < 2 ? std::nullopt : std::optional(steps);
}

std::optional<WallClock> wall_clock_of(const Job& job, double fill_s, double by_rule) {
  const std::optional<double> steps = epoch_steps_of(job);
  if (!steps || by_rule <= 0 || job.step.time <= 0) return std::nullopt;
  return WallClock{.steps = *steps,
                   .fill_s = fill_s,
                   .by_rule = by_rule,
                   .utilization = apply("A27", {{"steps_count", *steps},
                                                {"step_time_s", job.step.time},
                                                {"fill_time_s", fill_s},
                                                {"au_ratio", by_rule}})
                                      .value()};
}

std::optional<WallClock> priced_wall_clock_of(const Job& job, double supply, double by_rule) {
  // tf.data's workers share one batch.
  const double workers = job.loader.workers_per_gpu.value_or(0);
  if (workers < 1 || supply <= 0) return std::nullopt;
  const double requested = job.loader.kind == LoaderKind::tfdata ? 1 : workers;
  const double fill = apply("A26", {{"accelerators_count", std::max(1.0, std::round(job.replicas()))},
                                    {"requested_batches_count", requested},
                                    {"batch_samples_count", job.step.micro_batch},
                                    {"sample_bytes", job.dataset.stored_size()},
                                    {"supply_bytes_per_s", supply}})
                          .value();
  return wall_clock_of(job, fill, by_rule);
}

}  // namespace headrace::job
