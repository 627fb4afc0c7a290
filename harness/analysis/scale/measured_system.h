// What runs of a few nodes say of a shared store: the system that a simulation starts from.
#pragma once

#include <span>
#include <string>

#include "harness/job/job.h"
#include "harness/results/run_file.h"
#include "harness/simulate/simulation.h"

namespace headrace::scale {

/// The supplies that `runs` measured of the job's uses of a store, as a sizing takes them, and how much nodes differ. Throws
/// UsageErrors where no run measured a shared store, or where they measured two.
simulate::System measured_system(const job::Job& job, std::span<const results::StoredRun> runs);

/// simulation.json and simulation.csv (docs/reference/simulate.md).
std::string simulation_json(const simulate::SimulationPlan& plan, const simulate::Simulation& simulation);
std::string simulation_csv(const simulate::Simulation& simulation);

}  // namespace headrace::scale
