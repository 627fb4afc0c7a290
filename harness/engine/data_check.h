// Reading a point's data again after its last repetition, when no cache state is touched any more.
#pragma once

#include "harness/engine/limits.h"
#include "harness/engine/stage.h"

namespace headrace::engine {

/// This rank's share: every byte where the point asks for it, else a sample of what was generated. Data that several ranks
/// share is checked once for each node. `result` gets what is wrong.
StageEnd check_data(const Point& point, Node& node, std::uint64_t seed, const EngineLimits& limits,
                    const DataProgress& progress, PointResult& result);

}  // namespace headrace::engine
