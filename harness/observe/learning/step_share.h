// Of the time between two batches, what is the step: no waiting for data or a processor, no taking of batches, no saving.
#pragma once

#include <string>

#include "harness/observe/observation.h"
#include "harness/observe/sampling/own_time.h"

namespace headrace::observe {

/// At those who take batches.
struct LooksAtLead {
  double count = 0;
  double unsure = 0;  // share of the time that lies between late ones which found different things
};

struct StepShare {
  double value = 0, low = 0, high = 0;
  std::string evidence;
};
/// Bounds hold what cannot be distinguished: whether the main thread's own processor time is the step, whether it was the step that
/// got no processor or interpreter lock, and what looks leave open.
StepShare find_step_share(const Observation& seen, const OwnTime& own, const LooksAtLead& looks);

}  // namespace headrace::observe
