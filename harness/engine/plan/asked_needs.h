// Which needs a run judges: those of the job that the configuration asks for, and those it declares
// itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/engine/plan/plan.h"
#include "harness/job/needs.h"

namespace headrace {

/// The points that can follow from a job.
struct JobNeeds {
  explicit JobNeeds(const job::Job& job);
  /// The job's needs on each node, for each metric that measures such a need, as for Params.
  std::map<std::string, double> of_node;
  std::vector<job::Need> collectives;  // those that are about one
};

/// Fills plan.needs, not_asked and declared_needs from `needs:` (null = all of the job's) and
/// plan.job.
void ask_needs(const config::Value* needs, Plan& plan, Diagnostics& problems);

/// Moves needs that none of plan.points measures from plan.needs to plan.not_asked. A remark for each reason gives it,
/// and the command that would.
void leave_unmeasured(Plan& plan);

}  // namespace headrace
