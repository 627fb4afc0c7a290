// Which needs a run judges: those of the job that the configuration asks for, and those it declares
// itself.
#pragma once

#include <map>
#include <string>

#include "harness/plan.h"

namespace headrace {

/// What the job needs on each node, for each metric that measures such a need, as for Params.
std::map<std::string, double> needed_of_node(const requirements::Job& job);

/// Fills plan.needs, not_asked and declared_needs from `needs:` (null = all of the job's) and
/// plan.job.
void ask_needs(const config::Value* needs, Plan& plan, Diagnostics& problems);

}  // namespace headrace
