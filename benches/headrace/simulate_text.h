// A simulation for people.
#pragma once

#include "benches/headrace/answer.h"
#include "harness/analysis/simulate/simulation.h"

namespace headrace::cli {

Answer simulation_answer(const simulate::SimulationPlan& plan, const simulate::Simulation& simulation);
Text simulation_text(const simulate::SimulationPlan& plan, const simulate::Simulation& simulation,
                     const Terminal& terminal);
Text simulation_last_line(const simulate::SimulationPlan& plan, const simulate::Simulation& simulation);

}  // namespace headrace::cli
