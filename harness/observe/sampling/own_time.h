// The consumer's own processor time: taking batches and handing them on. A thread that spins until its GPU is ready
// looks the same from outside.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/observation.h"

namespace headrace::observe {

/// Shares of the time in which batches were taken.
struct OwnTime {
  bool known = false;                   // else: somewhere between low and high
  double value = 0, low = 0, high = 0;  // shares
  std::string evidence;                 // how it is known that it is no spinning, or why that is not
};
/// `slices` of Recording, while batches were taken; those in which training waits for a save are left out.
OwnTime find_own_time(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen);

}  // namespace headrace::observe
