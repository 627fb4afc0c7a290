// The points of a rehearsal: the job's input pipeline as a whole, and counter-experiments that show which stage limits it.
#pragma once

#include <string>

#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/plan.h"

namespace headrace {

/// What reports the points of input_pipeline in a rehearsal apart: their labels.
namespace rehearsal {
inline constexpr const char* kPipeline = "input_pipeline";
inline constexpr const char* kJob = "job";                       // as the job has it
inline constexpr const char* kNoCheckpoint = "no-checkpoint";    // of a job that saves: it does not
inline constexpr const char* kNoStep = "no-step";                // the GPUs take batches as fast as they come
inline constexpr const char* kNoDecode = "no-decode";            // so, too, and nothing is decoded
inline constexpr const char* kInMemory = "in-memory";            // no step, and samples lie in memory: decoding alone
inline constexpr const char* kDoubleWorkers = "double-workers";  // no step, twice the workers
inline constexpr const char* kWorkers = "workers-";    // that many workers of each GPU follow: --tune may try them
inline constexpr const char* kGpuDecode = "job";       // of gpu_decode: what GPUs would take off the processors
inline constexpr const char* kTier = "job";            // of local_cache: the job's tier, filled and read
inline constexpr const char* kPrefetch = "prefetch-";  // prefetch_factor follows: --tune may try it

/// Of a point with other workers than the job's, and another prefetch_factor; 0: the job's.
std::string setting_label(double workers, double prefetch_factor);
}  // namespace rehearsal

/// The points of `job` on one of its nodes, the whole pipeline first; the last one measures storage alone as `qualify`
/// does, for a prediction. By a benchmark's rules of a job that saves one of its models: saves and reads alone. Throws UsageError when nothing can be rehearsed with these means: no room for data, or steps
/// so long that the budget ends before.
FromJob rehearsal_from_job(const job::Job& job, Means means);

/// Of all that the job needs, a rehearsal judges one thing, step.target_utilization; that of a benchmark's checkpoints what the
/// job asks of saves and restores.
void judge_rehearsal(Plan& plan);

}  // namespace headrace
