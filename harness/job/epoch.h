// An epoch of a job: its steps, and the cost of filling the pipeline at its start.
#pragma once

#include <optional>

#include "harness/job/job.h"

namespace headrace::job {

/// Utilization of an epoch's wall clock, and that of MLPerf's rule, which leaves the first step out.
struct WallClock {
  double steps = 0, fill_s = 0, by_rule = 0, utilization = 0;  // the last: A27
};

/// Nothing where the job has no number of samples, or an epoch has fewer than two steps. `fill_s` as it was measured,
/// `by_rule` above 0.
std::optional<WallClock> wall_clock_of(const Job& job, double fill_s, double by_rule);

/// The same with the fill priced by A26 at `supply` [B/s] for all GPUs; nothing either without loader.workers_per_gpu.
std::optional<WallClock> priced_wall_clock_of(const Job& job, double supply, double by_rule);

// How many steps an epoch of a job has.

/// Nothing where the job has no number of samples, or an epoch has fewer than two steps.
std::optional<double> epoch_steps_of(const Job& job);

}  // namespace headrace::job
