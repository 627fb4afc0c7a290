// A pipeline's trace as the Trace Event Format has it, which Perfetto and Chrome's about:tracing show.
#pragma once

#include <cstdint>
#include <string>

#include "harness/record/pipeline_trace.h"

namespace headrace::results {

/// JSON with a track of complete events for each worker, and one for the steps of the GPUs. Counters show ready
/// batches. Times are microseconds from the earliest event. `otherData` reports each stage's time over all workers [s],
/// with those without room.
std::string trace_json(const PipelineTrace& trace, const std::string& point, const std::string& run_id);

/// Spans that there was no room for.
std::uint64_t left_out(const PipelineTrace& trace);

}  // namespace headrace::results
