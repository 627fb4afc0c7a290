// A short run by which a workload finds its settings.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/record/repetition.h"

namespace headrace {

/// Runs the workload's first phase for at most `seconds`, untimed, like a repetition of the engine. Its data is in the
/// point's cache state, its workers are pinned and watched. `what` is its progress message ("ramp: 125/s"). Nothing: an
/// operation or a worker failed.
using RunTrial = std::function<std::optional<PhaseResult>(double seconds, const std::string& what)>;

}  // namespace headrace
