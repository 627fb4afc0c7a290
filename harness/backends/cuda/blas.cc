#include "harness/backends/cuda/blas.h"

#include "harness/base/error.h"

#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>

#include "harness/backends/cuda/kernels.h"
#include "harness/backends/cuda/status.h"
#include "harness/backends/library.h"

namespace headrace::cuda {
namespace {

/// The functions used, found in the library; their binary interface is the same in CUDA 12 and 13.
struct Api {
  cublasStatus_t (*create)(cublasHandle_t*) = nullptr;
  cublasStatus_t (*destroy)(cublasHandle_t) = nullptr;
  cublasStatus_t (*version)(cublasHandle_t, int*) = nullptr;
  cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t) = nullptr;
  cublasStatus_t (*multiply)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                             const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                             cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
};

const Api& api() {
#if CUDART_VERSION >= 13000
  static const Library library{"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so.13"};
#else
  static const Library library{"libcublas.so.12", "libcublas.so.13", "/usr/local/cuda/lib64/libcublas.so.12"};
#endif
  if (!library)
    throw Unsupported(
        "libcublas.so not found: install libcublas, or name its folder in LD_LIBRARY_PATH (training frameworks bring "
        "one "
        "along: nvidia/cublas/lib)");
  static const Api functions = [] {
    Api found;
    const bool all = library.find("cublasCreate_v2", found.create) && library.find("cublasDestroy_v2", found.destroy) &&
                     library.find("cublasGetVersion_v2", found.version) &&
                     library.find("cublasSetStream_v2", found.set_stream) &&
                     library.find("cublasGemmEx", found.multiply);
    if (!all) found.create = nullptr;
    return found;
  }();
  if (functions.create == nullptr) throw Unsupported("libcublas.so lacks what CUDA 12 and later have");
  return functions;
}

struct Kind {
  cudaDataType data;
  cublasComputeType_t compute;
};
Kind kind_of(GpuNumber number) {
  switch (number) {
    case GpuNumber::fp16:
      return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
    case GpuNumber::bf16:
      return {CUDA_R_16BF, CUBLAS_COMPUTE_32F};
    case GpuNumber::tf32:
      return {CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case GpuNumber::fp32:
      break;
  }
  return {CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC};
}

class Multiplier final : public GpuMultiplier {
 public:
  Multiplier(Device& device, Stream& stream, const GpuMatrices& matrices)
      : api_(api()), device_(device), stream_(stream), matrices_(matrices) {
    device_.use();
    expect(api_.create(&handle_), "start cuBLAS on");
    try {
      expect(api_.set_stream(handle_, stream_.handle()), "bind cuBLAS on");
      void* count = nullptr;
      if (const auto code = cudaHostAlloc(&count, sizeof *count_, cudaHostAllocPortable | cudaHostAllocMapped);
          code != cudaSuccess)
        throw device_.failed("make a counter on", code);
      count_ = static_cast<unsigned long long*>(count);
      *count_ = 0;
    } catch (...) {
      free();
      throw;
    }
  }
  ~Multiplier() override { free(); }
  Multiplier(const Multiplier&) = delete;

  void multiply() override {
    device_.check();
    const float one = 1, none = 0;
    const auto n = static_cast<int>(matrices_.size);
    const Kind kind = kind_of(matrices_.number);
    expect(api_.multiply(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, matrices_.a, kind.data, n, matrices_.b,
                         kind.data, n, &none, matrices_.c, CUDA_R_32F, n, kind.compute, CUBLAS_GEMM_DEFAULT),
           "multiply on");
  }
  void compare() override {
    device_.check();
    const std::uint64_t words = std::uint64_t{matrices_.size} * matrices_.size;
    const auto code =
        launch_compare(reinterpret_cast<const std::uint32_t*>(matrices_.c),
                       reinterpret_cast<const std::uint32_t*>(matrices_.first), words, count_, stream_.handle());
    if (code != cudaSuccess) throw device_.failed("compare on", code);
  }
  std::uint64_t differing() const override { return __atomic_load_n(count_, __ATOMIC_ACQUIRE); }
  std::string library() const override {
    int version = 0;
    api_.version(handle_, &version);
    return "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
           std::to_string(version % 100);
  }

 private:
  void expect(cublasStatus_t code, const char* what) const {
    if (code != CUBLAS_STATUS_SUCCESS)
      throw RunError(std::string(what) + " " + device_.name() + ": cuBLAS status " +
                     std::to_string(static_cast<int>(code)));
  }
  void free() noexcept {
    if (device_.given_up() || Device::any_given_up()) return;
    if (handle_) api_.destroy(handle_);
    if (count_) cudaFreeHost(count_);
  }

  const Api& api_;
  Device& device_;
  Stream& stream_;
  GpuMatrices matrices_;
  cublasHandle_t handle_ = nullptr;
  unsigned long long* count_ = nullptr;
};

}  // namespace

std::unique_ptr<GpuMultiplier> make_multiplier(Device& device, Stream& stream, const GpuMatrices& matrices) {
  return std::make_unique<Multiplier>(device, stream, matrices);
}

}  // namespace headrace::cuda

#else

namespace headrace::cuda {

std::unique_ptr<GpuMultiplier> make_multiplier(Device&, Stream&, const GpuMatrices&) {
  throw Unsupported("this build knew no cuBLAS: build with cublas_v2.h of the CUDA Toolkit");
}

}  // namespace headrace::cuda

#endif
