// The cuda plugin as every program meets it: with a driver it lists GPUs, without one it says so.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/backends/gpu.h"
#include "harness/backends/loader.h"
#include "harness/base/error.h"

namespace headrace::cuda_plugin_test {
namespace {

const BackendStatus& cuda(const Backends& backends) {
  const auto& all = backends.status();
  return *std::find_if(all.begin(), all.end(), [](const auto& s) { return s.name == "cuda"; });
}

TEST(CudaPlugin, NamesTheMissingPart) {
  Backends backends;
  const BackendStatus& status = cuda(backends);
  if (!status.built) {
    EXPECT_EQ(status.reason, "not built into this installation: the build needs the CUDA Toolkit 12.4 or later");
    GTEST_SKIP() << status.reason;
  }
  EXPECT_TRUE(status.version.starts_with("CUDA 1")) << status.version;
  if (::dlopen("libcuda.so.1", RTLD_LAZY)) GTEST_SKIP() << "this machine has an NVIDIA driver";
  EXPECT_FALSE(status.usable);
  EXPECT_EQ(status.reason, "libcuda.so.1 not found: no NVIDIA driver");
  EXPECT_EQ(backends.why_not("cuda"), "cuda: libcuda.so.1 not found: no NVIDIA driver");
  EXPECT_THROW(backends.gpu(), RunError);
  EXPECT_THROW(backends.storage("cuda"), RunError);
}

TEST(CudaPlugin, GpusHaveNames) {
  Backends backends;
  if (const std::string why = backends.why_not("cuda"); !why.empty()) GTEST_SKIP() << why;
  GpuBackend& cuda = backends.gpu();
  ASSERT_GT(cuda.count(), 0u);
  for (unsigned i = 0; i < cuda.count(); ++i) {
    EXPECT_FALSE(cuda.gpu(i).facts().name.empty());
    EXPECT_GT(cuda.gpu(i).facts().memory, 0u);
  }
}

}  // namespace
}  // namespace headrace::cuda_plugin_test
