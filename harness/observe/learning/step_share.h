// The step's part of the time between two batches, without waiting for data or a processor, taking batches, or saving.
#pragma once

#include <string>

#include "harness/observe/observation.h"
#include "harness/observe/sampling/own_time.h"

namespace headrace::observe {

/// At the consumers of batches.
struct LooksAtLead {
  double count = 0;
  double unsure = 0;  // share of the time between late ones with different findings
};

struct StepShare {
  double value = 0, low = 0, high = 0;
  std::string evidence;
};
/// Bounds include the indistinguishable. The main thread's own processor time may be the step. So may time without a
/// processor or interpreter lock; looks are uncertain.
StepShare find_step_share(const Observation& seen, const OwnTime& own, const LooksAtLead& looks);

}  // namespace headrace::observe
