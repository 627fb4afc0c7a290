#include "harness/plan/rehearsal/tries.h"

#include <algorithm>
#include <set>

#include "harness/plan/from_job.h"
#include "harness/requirements/formula.h"

namespace headrace::rehearsal {

using requirements::Job;

namespace {

constexpr double kMostAhead = 64;  // batches, as the workload has it

}  // namespace

std::vector<double> other_workers(const Job& job, double gpus, double own) {
  std::set<double> others;
  for (double each = 1; each < own; each *= 2) others.insert(each);
  if (job.dataset.cpu_time_per_sample) {
    const double taken = job.step.micro_batch * job.step.accumulation / job.step.time;
    const double decoding = requirements::apply("B3", {{"rank_sample_rate_per_s", taken},
                                                       {"wall_time_per_sample_s", *job.dataset.cpu_time_per_sample},
                                                       {"target_utilization_ratio", 1}})
                                .value();
    if (decoding < own) others.insert(std::max(1.0, decoding));
  }
  std::erase_if(others, [&](double each) { return each * gpus > kMostWorkers; });
  return {others.begin(), others.end()};
}

std::vector<double> other_prefetch(const Job& job) {
  const double own = std::clamp(job.loader.prefetch_factor, 1.0, kMostAhead);
  std::set<double> others{2 * own, 4 * own};
  for (double ahead = 1; ahead < own; ahead *= 2) others.insert(ahead);
  std::erase_if(others, [](double ahead) { return ahead > kMostAhead; });
  return {others.begin(), others.end()};
}

}  // namespace headrace::rehearsal
