// What was watched, over time: what lines of a page are drawn from.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/observe/observation.h"

namespace headrace::observe {

/// "series" of observe.json: lists of one value for each slice of time.
nlohmann::ordered_json series_json(const Recording& recording, const Observation& seen);

}  // namespace headrace::observe
