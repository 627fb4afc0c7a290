// What must not stand in the environment where work of GPUs is timed.
#pragma once

#include <cstdlib>
#include <string>

namespace headrace::cuda {

/// Why nothing can be measured so, or "".
inline std::string spoilt_by_environment() {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  // Each call would wait for its work to end: copies are never queued behind one another, and what waits to be let go
  // keeps the one that is to do it from doing so.
  if (blocking && std::string(blocking) != "0" && *blocking != '\0')
    return "CUDA_LAUNCH_BLOCKING is '" + std::string(blocking) +
           "': no work is queued, so that nothing can be timed: unset it";
  return "";
}

}  // namespace headrace::cuda
