// The plugin's door, and why there may be no GPU behind it.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <set>
#include <vector>

#include "harness/backends/cuda/cufile.h"
#include "harness/backends/cuda/device.h"
#include "harness/backends/cuda/environment.h"
#include "harness/backends/cuda/nvml.h"
#include "harness/backends/cuda/status.h"
#include "harness/backends/library.h"
#include "harness/backends/plugin.h"

namespace headrace::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Why the runtime found no GPU.
std::string no_gpu(cudaError_t code) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (code == cudaErrorInsufficientDriver) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    return "the driver is too old: it supports CUDA " + version_text(driver) + ", headrace was built with " +
           version_text(CUDART_VERSION);
  }
  if ((code == cudaSuccess || code == cudaErrorNoDevice) && visible)
    return "no GPU is visible: CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "'";
  if (code == cudaSuccess || code == cudaErrorNoDevice) return "the driver finds no GPU";
  const std::string hint = what_to_do(code);
  return std::string("the driver does not start: ") + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")" +
         (hint.empty() ? "" : "; " + hint);
}

class Backend final : public GpuBackend {
 public:
  Backend() {
    if (const Library driver{"libcuda.so.1"}; !driver) {
      why_ = "libcuda.so.1 not found: no NVIDIA driver";
      return;
    }
    if (const std::string spoilt = spoilt_by_environment(); !spoilt.empty()) {
      why_ = spoilt;
      return;
    }
    int count = 0;
    const cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess || count == 0) {
      why_ = no_gpu(code);
      cudaGetLastError();
      return;
    }
    // One that the runtime cannot describe is lost, and leaves the others.
    for (int i = 0; i < count; ++i) try {
        devices_.push_back(std::make_unique<Device>(i, "gpu" + std::to_string(devices_.size())));
      } catch (const RunError& error) {
        broken_.insert(pci_address(i));
        why_ = error.what();
      }
    if (!devices_.empty()) why_.reset();
  }

  std::optional<std::string> unusable() const override { return why_; }
  unsigned count() const override { return static_cast<unsigned>(devices_.size()); }
  Gpu& gpu(unsigned index) override { return *devices_.at(index); }
  std::optional<std::vector<std::string>> listed() const override {
    auto all = Nvml::instance().links().addresses();
    if (all) std::erase_if(*all, [&](const std::string& address) { return broken_.contains(address); });
    return all;
  }
  std::optional<std::string> no_file_reader() const override { return CuFile::instance().unusable(); }

 private:
  std::optional<std::string> why_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::set<std::string> broken_;  // PCI addresses
};

class CudaPlugin final : public Plugin {
 public:
  std::string version() const override { return "CUDA " + version_text(CUDART_VERSION); }
  std::unique_ptr<GpuBackend> gpu_backend() override { return std::make_unique<Backend>(); }
};

}  // namespace
}  // namespace headrace::cuda

extern "C" __attribute__((visibility("default"))) headrace::Plugin* headrace_plugin() {
  static headrace::cuda::CudaPlugin plugin;
  return &plugin;
}
