#include "harness/backends/cuda/blas.h"

#include "harness/base/error.h"

#if __has_include(<cublas_v2.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

#include "harness/backends/cuda/kernels.h"
#include "harness/backends/cuda/status.h"
#include "harness/backends/library.h"

namespace headrace::cuda {
namespace {

/// The functions used, found in the library; their binary interface is the same in CUDA 12 and 13.
struct BlasApi {
  cublasStatus_t (*create)(cublasHandle_t*) = nullptr;
  cublasStatus_t (*destroy)(cublasHandle_t) = nullptr;
  cublasStatus_t (*version)(cublasHandle_t, int*) = nullptr;
  cublasStatus_t (*set_stream)(cublasHandle_t, cudaStream_t) = nullptr;
  cublasStatus_t (*multiply)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                             const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                             cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t) = nullptr;
};

/// "libcublas.so" of the toolkit's version, or of the other one that has the same interface.
Library blas_library(const std::string& name) {
#if CUDART_VERSION >= 13000
  const char *own = ".13", *other = ".12";
#else
  const char *own = ".12", *other = ".13";
#endif
  const std::string first = name + own, second = name + other, third = "/usr/local/cuda/lib64/" + first;
  return Library{first.c_str(), second.c_str(), third.c_str()};
}

const BlasApi& blas_api() {
  static const Library library = blas_library("libcublas.so");
  if (!library)
    throw Unsupported(
        "libcublas.so not found: install libcublas, or name its folder in LD_LIBRARY_PATH (training frameworks bring "
        "one "
        "along: nvidia/cublas/lib)");
  static const BlasApi functions = [] {
    BlasApi found;
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
  cudaDataType data, result;
  cublasComputeType_t compute;
};
Kind kind_of(GpuNumber number) {
  switch (number) {
    case GpuNumber::fp8:
      return {CUDA_R_8F_E4M3, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GpuNumber::fp16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GpuNumber::bf16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case GpuNumber::tf32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
    case GpuNumber::fp64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case GpuNumber::fp32:
      break;
  }
  return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC};
}

/// Counts differences. The library's own class makes the products.
class Multiplier : public GpuMultiplier {
 public:
  Multiplier(Device& device, Stream& stream, const GpuMatrices& matrices)
      : device_(device), stream_(stream), matrices_(matrices) {
    device_.use();
    void* count = nullptr;
    if (const auto code = cudaHostAlloc(&count, sizeof *count_, cudaHostAllocPortable | cudaHostAllocMapped);
        code != cudaSuccess)
      throw device_.failed("make a counter on", code);
    count_ = static_cast<unsigned long long*>(count);
    *count_ = 0;
  }
  ~Multiplier() override {
    if (may_free()) cudaFreeHost(count_);
  }
  Multiplier(const Multiplier&) = delete;

  void compare(const unsigned char* c) override {
    device_.check();
    const std::uint64_t elements = std::uint64_t{matrices_.size} * matrices_.size;
    const auto code =
        launch_compare(c, matrices_.first, elements, matrices_.number == GpuNumber::fp64, count_, stream_.handle());
    if (code != cudaSuccess) throw device_.failed("compare on", code);
  }
  std::uint64_t differing() const override { return __atomic_load_n(count_, __ATOMIC_ACQUIRE); }

 protected:
  void expect(cublasStatus_t code, const char* what) const {
    if (code == CUBLAS_STATUS_SUCCESS) return;
    const std::string why =
        std::string(what) + " " + device_.name() + ": cuBLAS status " + std::to_string(static_cast<int>(code));
    if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_ARCH_MISMATCH)
      throw Unsupported(why + ": not for this GPU");
    throw RunError(why);
  }
  bool may_free() const { return !device_.given_up() && !Device::any_given_up(); }
  static std::string version_text(unsigned version) {
    return "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
           std::to_string(version % 100);
  }

  Device& device_;
  Stream& stream_;
  const GpuMatrices matrices_;

 private:
  unsigned long long* count_ = nullptr;
};

class BlasMultiplier final : public Multiplier {
 public:
  BlasMultiplier(Device& device, Stream& stream, const GpuMatrices& matrices)
      : Multiplier(device, stream, matrices), api_(blas_api()) {
    expect(api_.create(&handle_), "start cuBLAS on");
    try {
      expect(api_.set_stream(handle_, stream_.handle()), "bind cuBLAS on");
    } catch (...) {
      free();
      throw;
    }
  }
  ~BlasMultiplier() override { free(); }

  void multiply(unsigned char* c) override {
    device_.check();
    const Kind kind = kind_of(matrices_.number);
    const auto queue = [&](auto one) {
      const decltype(one) none = 0;
      const auto n = static_cast<int>(matrices_.size);
      expect(api_.multiply(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, matrices_.a, kind.data, n, matrices_.b,
                           kind.data, n, &none, c, kind.result, n, kind.compute, CUBLAS_GEMM_DEFAULT),
             "multiply on");
    };
    matrices_.number == GpuNumber::fp64 ? queue(1.0) : queue(1.0f);
  }
  std::string library() const override {
    int version = 0;
    api_.version(handle_, &version);
    return version_text(static_cast<unsigned>(version));
  }

 private:
  void free() noexcept {
    if (handle_ && may_free()) api_.destroy(handle_);
  }

  const BlasApi& api_;
  cublasHandle_t handle_ = nullptr;
};

/// The library's lower half, which alone multiplies fp8.
struct LtApi {
  cublasStatus_t (*create)(cublasLtHandle_t*) = nullptr;
  cublasStatus_t (*destroy)(cublasLtHandle_t) = nullptr;
  std::size_t (*version)() = nullptr;
  cublasStatus_t (*make_product)(cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType_t) = nullptr;
  cublasStatus_t (*free_product)(cublasLtMatmulDesc_t) = nullptr;
  cublasStatus_t (*set_product)(cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, const void*,
                                std::size_t) = nullptr;
  cublasStatus_t (*make_layout)(cublasLtMatrixLayout_t*, cudaDataType, std::uint64_t, std::uint64_t,
                                std::int64_t) = nullptr;
  cublasStatus_t (*free_layout)(cublasLtMatrixLayout_t) = nullptr;
  cublasStatus_t (*make_preference)(cublasLtMatmulPreference_t*) = nullptr;
  cublasStatus_t (*free_preference)(cublasLtMatmulPreference_t) = nullptr;
  cublasStatus_t (*set_preference)(cublasLtMatmulPreference_t, cublasLtMatmulPreferenceAttributes_t, const void*,
                                   std::size_t) = nullptr;
  cublasStatus_t (*choose)(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatmulPreference_t, int,
                           cublasLtMatmulHeuristicResult_t*, int*) = nullptr;
  cublasStatus_t (*multiply)(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*, cublasLtMatrixLayout_t,
                             const void*, cublasLtMatrixLayout_t, const void*, const void*, cublasLtMatrixLayout_t,
                             void*, cublasLtMatrixLayout_t, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                             cudaStream_t) = nullptr;
};

const LtApi& lt_api() {
  static const Library library = blas_library("libcublasLt.so");
  static const LtApi functions = [] {
    LtApi found;
    const bool all = library.find("cublasLtCreate", found.create) && library.find("cublasLtDestroy", found.destroy) &&
                     library.find("cublasLtGetVersion", found.version) &&
                     library.find("cublasLtMatmulDescCreate", found.make_product) &&
                     library.find("cublasLtMatmulDescDestroy", found.free_product) &&
                     library.find("cublasLtMatmulDescSetAttribute", found.set_product) &&
                     library.find("cublasLtMatrixLayoutCreate", found.make_layout) &&
                     library.find("cublasLtMatrixLayoutDestroy", found.free_layout) &&
                     library.find("cublasLtMatmulPreferenceCreate", found.make_preference) &&
                     library.find("cublasLtMatmulPreferenceDestroy", found.free_preference) &&
                     library.find("cublasLtMatmulPreferenceSetAttribute", found.set_preference) &&
                     library.find("cublasLtMatmulAlgoGetHeuristic", found.choose) &&
                     library.find("cublasLtMatmul", found.multiply);
    if (!all) found.create = nullptr;
    return found;
  }();
  if (functions.create == nullptr) throw Unsupported("fp8 needs libcublasLt.so, which was not found");
  return functions;
}

class LtMultiplier final : public Multiplier {
 public:
  LtMultiplier(Device& device, Stream& stream, const GpuMatrices& matrices)
      : Multiplier(device, stream, matrices), api_(lt_api()) {
    try {
      expect(api_.create(&handle_), "start cuBLAS on");
      prepare();
    } catch (...) {
      free();
      throw;
    }
  }
  ~LtMultiplier() override { free(); }

  void multiply(unsigned char* c) override {
    device_.check();
    const float one = 1, none = 0;
    expect(api_.multiply(handle_, product_, &one, matrices_.a, factor_, matrices_.b, factor_, &none, c, result_, c,
                         result_, &chosen_.algo, room_, kRoom, stream_.handle()),
           "multiply on");
  }
  std::string library() const override { return version_text(static_cast<unsigned>(api_.version())); }

 private:
  static constexpr std::size_t kRoom = std::size_t{32} << 20;  // as NVIDIA advises for Hopper

  void prepare() {
    const Kind kind = kind_of(matrices_.number);
    const std::uint64_t n = matrices_.size;
    const auto rows = static_cast<std::int64_t>(n);
    expect(api_.make_product(&product_, kind.compute, CUDA_R_32F), "describe a product on");
    const cublasOperation_t by_rows = CUBLAS_OP_T;
    expect(api_.set_product(product_, CUBLASLT_MATMUL_DESC_TRANSA, &by_rows, sizeof by_rows), "describe a product on");
    expect(api_.make_layout(&factor_, kind.data, n, n, rows), "describe a matrix on");
    expect(api_.make_layout(&result_, kind.result, n, n, rows), "describe a matrix on");
    if (const auto code = cudaMalloc(&room_, kRoom); code != cudaSuccess) throw device_.failed("make room on", code);
    cublasLtMatmulPreference_t preference = nullptr;
    expect(api_.make_preference(&preference), "choose how to multiply on");
    int found = 0;
    cublasStatus_t code =
        api_.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kRoom, sizeof kRoom);
    if (code == CUBLAS_STATUS_SUCCESS)
      code = api_.choose(handle_, product_, factor_, factor_, result_, result_, preference, 1, &chosen_, &found);
    api_.free_preference(preference);
    expect(code == CUBLAS_STATUS_SUCCESS && found == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : code,
           "choose how to multiply fp8 on");
  }
  void free() noexcept {
    if (!may_free()) return;
    if (room_) cudaFree(room_);
    if (result_) api_.free_layout(result_);
    if (factor_) api_.free_layout(factor_);
    if (product_) api_.free_product(product_);
    if (handle_) api_.destroy(handle_);
  }

  const LtApi& api_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t factor_ = nullptr, result_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_{};
  void* room_ = nullptr;
};

}  // namespace

std::unique_ptr<GpuMultiplier> make_multiplier(Device& device, Stream& stream, const GpuMatrices& matrices) {
  if (matrices.number == GpuNumber::fp8) return std::make_unique<LtMultiplier>(device, stream, matrices);
  return std::make_unique<BlasMultiplier>(device, stream, matrices);
}

}  // namespace headrace::cuda

#else

namespace headrace::cuda {

std::unique_ptr<GpuMultiplier> make_multiplier(Device&, Stream&, const GpuMatrices&) {
  throw Unsupported("this build knew no cuBLAS: build with cublas_v2.h of the CUDA Toolkit");
}

}  // namespace headrace::cuda

#endif
