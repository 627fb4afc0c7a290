// What the process that takes batches spends of a processor itself: taking them and handing them on. A thread that spins until
// its GPU is ready looks the same from outside.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/observation.h"

namespace headrace::observe {

/// Of the time in which batches were taken.
struct OwnTime {
  bool known = false;                   // else: somewhere between low and high
  double value = 0, low = 0, high = 0;  // shares
  std::string evidence;                 // how it is known that it is no spinning, or why that is not
};
/// `slices` of Recording, while batches were taken; those in which training stands still for a save are left out.
OwnTime find_own_time(const Recording& recording, const std::vector<const Slice*>& slices, const Observation& seen);

}  // namespace headrace::observe
