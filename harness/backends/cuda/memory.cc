#include "harness/backends/cuda/memory.h"

#include <sys/resource.h>

#include "harness/backends/buffers.h"
#include "harness/backends/cuda/status.h"

namespace headrace::cuda {
namespace {

std::string mib(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

/// What may be behind a refusal to pin.
std::string locked_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return "no limit on locked memory is set: the machine or its control group has too little";
  return "locked memory is limited to " + mib(limit.rlim_cur) + ": ulimit -l unlimited";
}

RunError refused(const std::string& operation, std::uint64_t bytes, cudaError_t code) {
  const RunError error = cuda_error(operation, mib(bytes) + " of host memory", code);
  return RunError(std::string(error.what()) + "; " + locked_limit());
}

class DeviceMemory final : public GpuMemory {
 public:
  DeviceMemory(Device& device, std::uint64_t bytes) : device_(device) {
    device_.use();
    void* memory = nullptr;
    if (const auto code = cudaMalloc(&memory, bytes); code != cudaSuccess) {
      const RunError error = device_.failed("allocate " + mib(bytes) + " on", code);
      std::size_t free = 0, total = 0;
      if (device_.given_up() || cudaMemGetInfo(&free, &total) != cudaSuccess) throw error;
      throw RunError(std::string(error.what()) + "; " + mib(free) + " of " + mib(total) + " are free");
    }
    begin_ = static_cast<unsigned char*>(memory);
    size_ = bytes;
  }
  ~DeviceMemory() override {
    if (device_.used()) cudaFree(begin_);
  }

 private:
  Device& device_;
};

class PinnedMemory final : public GpuMemory {
 public:
  PinnedMemory(Device& device, std::uint64_t bytes, bool write_combined) : device_(device) {
    device_.use();
    const unsigned flags = cudaHostAllocPortable | (write_combined ? cudaHostAllocWriteCombined : 0u);
    void* memory = nullptr;
    if (const auto code = cudaHostAlloc(&memory, bytes, flags); code != cudaSuccess) throw refused("pin", bytes, code);
    begin_ = static_cast<unsigned char*>(memory);
    size_ = bytes;
  }
  ~PinnedMemory() override {
    if (!Device::any_given_up() && device_.used()) cudaFreeHost(begin_);
  }

 private:
  Device& device_;
};

class PinnedInPlace final : public GpuMemory {
 public:
  PinnedInPlace(Device& device, std::span<unsigned char> memory) : device_(device) {
    device_.use();
    if (const auto code = cudaHostRegister(memory.data(), memory.size(), cudaHostRegisterPortable); code != cudaSuccess)
      throw refused("register", memory.size(), code);
    begin_ = memory.data();
    size_ = memory.size();
  }
  ~PinnedInPlace() override {
    if (!Device::any_given_up() && device_.used()) cudaHostUnregister(begin_);
  }

 private:
  Device& device_;
};

}  // namespace

std::unique_ptr<GpuMemory> device_memory(Device& device, std::uint64_t bytes) {
  return std::make_unique<DeviceMemory>(device, bytes);
}

int dma_buf_of(Device& device, const GpuMemory& memory) {
  // Of the driver's own interface, which the runtime hands out by name; kept in its words, so that no driver library has
  // to be linked.
  using Export = int (*)(void*, unsigned long long, std::size_t, int, unsigned long long);
  constexpr int kDmaBufFd = 1;  // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
  device.use();
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr const char* kName = "cuMemGetHandleForAddressRange";
#if CUDART_VERSION >= 12050
  const cudaError_t asked = cudaGetDriverEntryPointByVersion(kName, &function, 11070, cudaEnableDefault, &found);
#else  // the newest that the driver has, which takes the same arguments
  const cudaError_t asked = cudaGetDriverEntryPoint(kName, &function, cudaEnableDefault, &found);
#endif
  if (asked != cudaSuccess || !function) {
    cudaGetLastError();
    return -1;
  }
  int fd = -1;
  const std::uint64_t length = (memory.size() + kPage - 1) / kPage * kPage;
  const int code = reinterpret_cast<Export>(function)(
      &fd, static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(memory.begin())), length, kDmaBufFd, 0);
  return code == 0 ? fd : -1;
}

std::unique_ptr<GpuMemory> pinned_memory(Device& device, std::uint64_t bytes, bool write_combined) {
  return std::make_unique<PinnedMemory>(device, bytes, write_combined);
}

std::unique_ptr<GpuMemory> pinned_in_place(Device& device, std::span<unsigned char> memory) {
  return std::make_unique<PinnedInPlace>(device, memory);
}

}  // namespace headrace::cuda
