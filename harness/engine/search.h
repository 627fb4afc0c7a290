// Searching settings before measuring: the workload gives the settings, the engine tries them.
#pragma once

#include <memory>
#include <stdexcept>

#include "harness/engine/limits.h"
#include "harness/record/cache_state.h"
#include "harness/record/data_report.h"

namespace headrace {
class Workload;
}

namespace headrace::engine {

/// A trial's workers did not end: nothing of the workload may be touched any more.
struct TrialHung : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Lets a prepared workload search its settings by trials in `state`, with its workers pinned if so. `progress` hears of
/// each trial, and of its seconds; what it throws ends the search. Throws TrialHung, and what the search throws.
void search(const std::shared_ptr<Workload>& workload, CacheState state, bool pinned, const EngineLimits& limits,
            const DataProgress& progress);

}  // namespace headrace::engine
