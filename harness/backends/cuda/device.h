// One GPU, and the state in which it is after a failure.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <string>

#include "harness/backends/gpu.h"

namespace headrace::cuda {

/// A GPU that did not answer in time is given up: calls into the driver might never return, so none
/// is made any more, and what it holds stays allocated.
class Device final : public Gpu {
 public:
  explicit Device(int index);

  const GpuFacts& facts() const override { return facts_; }
  GpuState state() override;
  std::unique_ptr<GpuMemory> allocate(std::uint64_t bytes) override;
  std::unique_ptr<GpuStream> stream() override;
  std::unique_ptr<GpuMemory> pinned(std::uint64_t bytes, bool write_combined) override;
  std::unique_ptr<GpuMemory> pin(std::span<unsigned char> memory) override;
  int dma_buf(const GpuMemory& memory) override;
  bool reaches(Gpu& other) override;
  std::unique_ptr<GpuMultiplier> multiplier(GpuStream& stream, const GpuMatrices& matrices) override;
  std::unique_ptr<GpuImageDecoder> image_decoder(GpuStream& stream, unsigned batch, unsigned host_threads,
                                                 bool hardware) override;
  std::unique_ptr<GpuFileReader> file_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                             const GpuMemory& memory) override;

  int index() const { return index_; }
  const std::string& name() const { return name_; }  // "gpu0"
  /// Makes it the calling thread's GPU. Throws when it was given up.
  void use();
  /// The same where something is given back: false when it was given up or does not answer.
  bool used() noexcept { return !given_up_ && cudaSetDevice(index_) == cudaSuccess; }
  void check() const {
    if (given_up_.load(std::memory_order_relaxed)) throw_given_up();
  }
  void give_up(const std::string& why);
  bool given_up() const { return given_up_; }
  /// Was any GPU given up? Then freeing what all share might never return either.
  static bool any_given_up();

 private:
  [[noreturn]] void throw_given_up() const;

  int index_;
  std::string name_;
  GpuFacts facts_;
  void* nvml_ = nullptr;
  std::atomic<bool> given_up_{false};
  mutable std::mutex mutex_;
  std::string why_;  // under the mutex
};

}  // namespace headrace::cuda
