// A shared store by runs of a few nodes: the system that a simulation starts from.
#pragma once

#include <span>
#include <string>

#include "harness/analysis/simulate/simulation.h"
#include "harness/job/job.h"
#include "harness/results/run_file.h"

namespace headrace::simulate {

/// The supplies that `runs` measured for the job's uses of a store, and how much nodes differ. Throws UsageErrors where
/// no run measured a shared store, or where they measured two.
simulate::System measured_system(const job::Job& job, std::span<const results::StoredRun> runs);

/// simulation.json and simulation.csv (docs/reference/simulate.md).
std::string simulation_json(const simulate::SimulationPlan& plan, const simulate::Simulation& simulation);
std::string simulation_csv(const simulate::Simulation& simulation);

}  // namespace headrace::simulate
