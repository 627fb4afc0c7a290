// What a rehearsal that tunes tries beside the job's own.
#pragma once

#include <vector>

#include "harness/requirements/job.h"

namespace headrace::rehearsal {

/// Workers of each of `gpus` GPUs, fewer than the job's `own`: the powers of two, and what decoding alone takes (B3).
std::vector<double> other_workers(const requirements::Job& job, double gpus, double own);

/// The powers of two below the job's own prefetch_factor, and twice and four times it.
std::vector<double> other_prefetch(const requirements::Job& job);

}  // namespace headrace::rehearsal
