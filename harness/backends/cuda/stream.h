// A CUDA stream with its marks (events) and its gate.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <bitset>

#include "harness/backends/cuda/device.h"
#include "harness/backends/cuda/kernels.h"
#include "harness/backends/gpu.h"

namespace headrace::cuda {

class Stream final : public GpuStream {
 public:
  /// Non-blocking: does not wait for the default stream.
  explicit Stream(Device& device);
  ~Stream() override;
  Stream(const Stream&) = delete;

  void attach() override { device_.use(); }
  void copy(void* to, const void* from, std::uint64_t bytes, CopyKind kind) override;
  void copy_by_cores(void* to, const void* from, std::uint64_t bytes) override;
  void fill(void* to, std::uint64_t bytes, const GpuPattern& pattern) override;
  void check_and_fill(void* at, std::uint64_t bytes, const GpuPattern& is, const GpuPattern& next,
                      GpuWrongWords& found) override;
  void bring(void* in, const ExpectedSums& data, bool in_place) override;
  void check(const void* out, const ExpectedSums& data, GpuWrongElements& found) override;
  void follow(const void* const* at, std::uint64_t loads) override;
  void hold() override;
  void release() noexcept override;
  void keep_busy(std::uint64_t ns) override;
  void mark(unsigned mark) override;
  void after(const GpuStream& other, unsigned mark) override;
  bool reached(unsigned mark) override;
  void wait_mark(unsigned mark) override;
  void wait() override;
  double seconds(unsigned from, const GpuStream& other, unsigned to) override;
  void* native() override { return stream_; }
  cudaStream_t handle() const { return stream_; }

 private:
  void expect(cudaError_t code, const char* operation) const;
  /// Asks until the answer is not "not ready".
  template <class Query>
  void await(Query query);
  void free() noexcept;

  Device& device_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, kMarks> marks_{};
  Gate* gate_ = nullptr;
  const void** last_ = nullptr;  // where follow() ended; on the GPU
  std::uint32_t ticket_ = 0;
};

}  // namespace headrace::cuda
