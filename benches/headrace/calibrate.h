// The time of the job's own decoder for a sample, measured before its loader is rehearsed.
#pragma once

#include <string>

#include "harness/engine/plan/plan.h"

namespace headrace::cli {

struct Calibration {
  double cpu_time_s = 0;  // of a processor, for one sample
  std::string how;        // it was measured, in a sentence
};

/// `decoder`: pillow, torchvision, opencv or dali, which decode in the Python that has them; or a command. The command
/// gets the files of samples as its last words. It prints the processor time of one sample, such as 2.7ms or 0.0027. As
/// many run side by side as the job has workers and this machine processors. Throws UsageError where there are no
/// samples to decode or no decoder, or where its output is no time.
Calibration calibrate(const std::string& decoder, const PlanOptions& options);

}  // namespace headrace::cli
