// The number of steps: counted by taken batches, not timed.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/observation.h"

namespace headrace::observe {

struct Steps {
  double count = 0;        // of one process that takes batches, on average; 0 = not known
  double uncertainty = 0;  // relative
  // Times `count`, besides: where two batches that were taken together cannot be distinguished from one; 1: they can.
  double fewest = 1, most = 1;
  double calls = 0;  // read() calls that one batch is taken by; 0: not known
  Confidence confidence = Confidence::guess;
  std::string evidence;

  bool distinguished() const { return fewest == 1 && most == 1; }
};

/// The growth of the counts of calls for one batch. It is the largest number of which nine in ten jumps are a multiple.
/// 0: too few jumps. `agreeing`: the share of the jumps that are. Batches that come together look like one.
std::uint32_t calls_per_batch(const std::map<std::uint32_t, std::uint32_t>& jumps, double& agreeing);

/// `slices` of Recording, while batches were taken.
Steps count_steps(const Recording& recording, const Roles& roles, const std::vector<const Slice*>& slices);

}  // namespace headrace::observe
