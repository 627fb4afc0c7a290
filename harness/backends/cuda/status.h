// From CUDA's codes to what a reader is told.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "harness/base/error.h"

namespace headrace::cuda {

/// "copy to gpu0: an illegal memory access was encountered (cudaErrorIllegalAddress)".
inline RunError cuda_error(const std::string& operation, const std::string& target, cudaError_t code) {
  cudaGetLastError();  // one that does not stick must not be found by the next call
  return RunError(operation + " " + target + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")");
}

}  // namespace headrace::cuda
