// What a rehearsal that tunes may try beside the job's own.
#pragma once

#include <vector>

#include "harness/job/job.h"

namespace headrace::rehearsal {

/// Workers of each GPU beside the job's `own`, rising: each number up to 8, then about an eighth apart; up to four times its
/// own, and to `most`.
std::vector<double> other_workers(double own, double most);

/// The powers of two below the job's own prefetch_factor, and twice and four times it.
std::vector<double> other_prefetch(const job::Job& job);

}  // namespace headrace::rehearsal
