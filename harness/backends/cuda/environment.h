// Variables that must not be set where work of GPUs is timed.
#pragma once

#include <cstdlib>
#include <string>

namespace headrace::cuda {

/// Why nothing can be measured so, or "".
inline std::string spoilt_by_environment() {
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  // Each call would wait for its work to end. Copies are never queued behind one another, and pending ones keep their
  // thread from releasing them.
  if (blocking && std::string(blocking) != "0" && *blocking != '\0')
    return "CUDA_LAUNCH_BLOCKING is '" + std::string(blocking) +
           "': no work is queued, so that nothing can be timed: unset it";
  return "";
}

}  // namespace headrace::cuda
