// Which needs a run judges: those of the job that the configuration asks for, and those it declares
// itself.
#pragma once

#include "harness/plan.h"

namespace headrace {

/// Fills plan.needs, not_asked and declared_needs from `needs:` (null = all of the job's) and
/// plan.job.
void ask_needs(const config::Value* needs, Plan& plan, Diagnostics& problems);

}  // namespace headrace
