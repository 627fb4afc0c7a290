// The timed region's view of its repetition.
#pragma once

#include <cstdint>

#include "harness/record/recorder.h"

namespace headrace {

/// One worker thread's view of the timed region.
struct Worker {
  unsigned index = 0;  // 0 .. count-1
  unsigned count = 1;
  unsigned phase = 0;  // index in phases()
  unsigned repetition = 0;
  std::uint64_t seed = 0;  // same for all workers of a repetition; differs between repetitions
  Recorder& recorder;
};

}  // namespace headrace
