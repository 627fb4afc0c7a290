// How many steps an epoch of a job has.
#pragma once

#include <optional>

#include "harness/job/job.h"

namespace headrace::job {

/// Nothing where the job has no number of samples, or an epoch has fewer than two steps.
std::optional<double> epoch_steps_of(const Job& job);

}  // namespace headrace::job
