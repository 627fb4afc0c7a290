// Limits by storage, processors and locks, each with its proof and possible remedies.
#pragma once

#include <string>
#include <vector>

#include "harness/observe/observation.h"

namespace headrace::observe {

/// Idle processors, on average: with fewer, more threads would compute no more.
inline constexpr double kFreeProcessor = 0.5;

/// The makers of batches: their name in sentences, and where their time went.
struct Makers {
  std::string who;  // "workers"
  bool one = false;
  const std::vector<Share>& shares;

  std::string wait() const;  // "workers wait"
  std::string more() const;  // "more workers"
};

/// They wait for reads, opens or pages most of all. `slices`: while batches were taken.
Limit storage_limit(const std::vector<const Slice*>& slices, const Observation& seen, const Makers& makers);
/// They compute, for `cpu` of the time, or are ready and get no processor, for `queued` of it.
Limit processor_limit(const Observation& seen, double cpu, double queued, bool machine_seen, const Makers& makers);

}  // namespace headrace::observe
