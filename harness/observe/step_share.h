// Of the time between two batches, what is the step: no waiting for data or a processor, no taking of batches, no saving.
#pragma once

#include <string>

#include "harness/observe/observation.h"
#include "harness/observe/own_time.h"

namespace headrace::observe {

struct StepShare {
  double value = 0, low = 0, high = 0;
  std::string evidence;
};
/// Bounds hold what cannot be told apart: whether the main thread's own processor time is the step, whether it was the step that
/// got no processor, and what so many looks leave open (95 %).
StepShare find_step_share(const Observation& seen, const OwnTime& own, double looks);

}  // namespace headrace::observe
