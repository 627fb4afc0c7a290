// One GPU, and the state in which it is after a failure.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>
#include <string>

#include "harness/backends/cuda/status.h"
#include "harness/backends/gpu.h"

namespace headrace::cuda {

/// The address in /sys/bus/pci/devices of the runtime's device; "" when the driver does not report it.
std::string pci_address(int index);

/// A GPU that did not answer in time is given up. Calls into the driver might never return, so no more are made, and
/// its memory stays allocated.
class Device final : public Gpu {
 public:
  /// `name`: by its place among those that can be used. Throws RunError when the runtime cannot describe it.
  Device(int index, std::string name);

  const GpuFacts& facts() const override { return facts_; }
  GpuState state() override;
  std::string lost() const override;
  std::optional<std::uint64_t> free_memory() override;
  std::unique_ptr<GpuMemory> allocate(std::uint64_t bytes) override;
  std::unique_ptr<GpuStream> stream() override;
  std::unique_ptr<GpuMemory> pinned(std::uint64_t bytes, bool write_combined) override;
  std::unique_ptr<GpuMemory> pin(std::span<unsigned char> memory) override;
  int dma_buf(const GpuMemory& memory) override;
  std::unique_ptr<GpuMemory> share(std::uint64_t bytes, GpuFabricHandle& handle) override;
  std::unique_ptr<GpuMemory> map(const GpuFabricHandle& handle, std::uint64_t bytes) override;
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
  /// `code`: that it failed with; success: it did not answer in time.
  void give_up(const std::string& why, cudaError_t code);
  /// What `operation` failed with; after some codes the GPU is given up.
  RunError failed(const std::string& operation, cudaError_t code) {
    RunError error = cuda_error(operation, name_, code);
    if (needs_relaunch(code)) give_up(error.what(), code);
    return error;
  }
  bool given_up() const { return given_up_; }
  /// Was any GPU given up? Then freeing what all share might never return either.
  static bool any_given_up();

 private:
  [[noreturn]] void throw_given_up() const;

  int index_;
  std::string name_;
  GpuFacts facts_;
  void* nvml_ = nullptr;
  std::atomic<bool> given_up_{false}, hangs_{false}, lost_{false};
  mutable std::mutex mutex_;
  std::string why_;  // under the mutex
};

}  // namespace headrace::cuda
