// What the workers of a phase recorded, all together.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "harness/engine/worker_threads.h"
#include "harness/record/recorder.h"
#include "harness/record/repetition.h"

namespace headrace::engine {

/// Of a phase that did not hang. The last `background` of its workers did something else: what they recorded is kept apart.
/// `series` gets what the others recorded over time; `parts`: latency channels of a worker.
PhaseResult phase_result(const PhaseEnd& end, unsigned background, unsigned parts, TimeSeries& series);

}  // namespace headrace::engine
