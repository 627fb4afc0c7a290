// From CUDA's codes to messages.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "harness/base/error.h"

namespace headrace::cuda {

/// After these every call of the process to that GPU fails with the same code. Its work and memory are lost until the
/// process is started anew (cudaError_t, "the process must be terminated and relaunched").
constexpr bool needs_relaunch(cudaError_t code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorUnknown:
      return true;
    default:
      return false;
  }
}

/// Those of them that come from the hardware alone, and from no program.
constexpr bool is_of_hardware(cudaError_t code) {
  return code == cudaErrorECCUncorrectable || code == cudaErrorNvlinkUncorrectable || code == cudaErrorUnknown;
}

/// Where the code alone reports it; else "".
constexpr const char* what_to_do(cudaError_t code) {
  switch (code) {
    case cudaErrorDevicesUnavailable:
      return "another process has it in exclusive-process mode, or it is in prohibited mode: nvidia-smi -q -d COMPUTE "
             "shows it, nvidia-smi -c DEFAULT allows all";
    case cudaErrorSystemNotReady:
      return "the switches between GPUs are not set up: start nvidia-fabricmanager, of the driver's own version";
    case cudaErrorSystemDriverMismatch:
      return "the kernel's driver and its libraries are of different versions: reboot, or load the module anew";
    case cudaErrorCompatNotSupportedOnDevice:
      return "the driver's compatibility libraries do not run on this GPU: install the driver itself";
    case cudaErrorUnsupportedPtxVersion:
      return "this headrace has no machine code for this GPU, and its CUDA Toolkit is newer than the driver. Build it "
             "with "
             "a toolkit of the driver's version or older, or install a newer driver";
    case cudaErrorNoKernelImageForDevice:
      return "this headrace has no code for this GPU: build it with a CUDA Toolkit that knows it";
    case cudaErrorNvlinkUncorrectable:
      return "an NVLink failed: dmesg names it (Xid 74; since Blackwell 144 to 150)";
    case cudaErrorECCUncorrectable:
      return "its memory has an error: nvidia-smi -q -d ECC,ROW_REMAPPER, then reset it";
    case cudaErrorUnknown:
      return "the driver lost it: dmesg shows why (an Xid; 79: it has fallen off the bus)";
    default:
      return "";
  }
}

/// "copy to gpu0: an illegal memory access was encountered (cudaErrorIllegalAddress)".
inline RunError cuda_error(const std::string& operation, const std::string& target, cudaError_t code) {
  cudaGetLastError();  // one that does not stick must not be found by the next call
  const std::string hint = what_to_do(code);
  return RunError(operation + " " + target + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")" +
                  (hint.empty() ? "" : "; " + hint));
}

}  // namespace headrace::cuda
