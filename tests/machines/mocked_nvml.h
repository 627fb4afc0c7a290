// headrace's own reader of NVML over the library that tests describe.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "harness/backends/cuda/nvml.h"
#include "tests/machines/nvml_mock.h"

namespace headrace::testing {

/// Loads the mock under the name that the reader looks for, and reports it of `gpus`.
inline const cuda::Nvml& mocked_nvml(const std::vector<NvmlMockGpu>& gpus) {
  static void* const library = ::dlopen(HEADRACE_NVML_MOCK, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  auto* set = reinterpret_cast<decltype(&nvml_mock_set)>(::dlsym(library, "nvml_mock_set"));
  set(gpus.data(), static_cast<unsigned>(gpus.size()));
  return cuda::Nvml::instance();
}

}  // namespace headrace::testing
