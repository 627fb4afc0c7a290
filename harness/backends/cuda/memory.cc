#include "harness/backends/cuda/memory.h"

#include <cuda.h>
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

/// A function of the driver's own interface. The runtime hands it out by name, so that no driver library has to be
/// linked. False where the driver has no such function.
template <class Function>
bool find(const char* name, [[maybe_unused]] unsigned since, Function*& function) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
  const cudaError_t asked = cudaGetDriverEntryPointByVersion(name, &found, since, cudaEnableDefault, &result);
#else  // the newest that the driver has, which takes the same arguments
  const cudaError_t asked = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (asked != cudaSuccess) cudaGetLastError();
  function = asked == cudaSuccess ? reinterpret_cast<Function*>(found) : nullptr;
  return function != nullptr;
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

/// The driver's memory by pieces of address space, which alone has handles for other nodes.
struct VirtualMemory {
  VirtualMemory() {
    constexpr unsigned kSince = 10020;
    all = find("cuMemGetAllocationGranularity", kSince, granularity) && find("cuMemCreate", kSince, create) &&
          find("cuMemRelease", kSince, release) && find("cuMemAddressReserve", kSince, reserve) &&
          find("cuMemAddressFree", kSince, give_back) && find("cuMemMap", kSince, map) &&
          find("cuMemUnmap", kSince, unmap) && find("cuMemSetAccess", kSince, set_access) &&
          find("cuMemExportToShareableHandle", kSince, to_handle) &&
          find("cuMemImportFromShareableHandle", kSince, from_handle);
  }
  static const VirtualMemory& instance() {
    static const VirtualMemory memory;
    return memory;
  }
  bool all = false;
  decltype(cuMemGetAllocationGranularity)* granularity = nullptr;
  decltype(cuMemCreate)* create = nullptr;
  decltype(cuMemRelease)* release = nullptr;
  decltype(cuMemAddressReserve)* reserve = nullptr;
  decltype(cuMemAddressFree)* give_back = nullptr;
  decltype(cuMemMap)* map = nullptr;
  decltype(cuMemUnmap)* unmap = nullptr;
  decltype(cuMemSetAccess)* set_access = nullptr;
  decltype(cuMemExportToShareableHandle)* to_handle = nullptr;
  decltype(cuMemImportFromShareableHandle)* from_handle = nullptr;
};

class FabricMemory final : public GpuMemory {
 public:
  /// Memory of `device` and its handle; else, for `device`, what `imports` is the handle of.
  FabricMemory(Device& device, std::uint64_t bytes, GpuFabricHandle* exports, const GpuFabricHandle* imports)
      : device_(device) {
    device_.use();
    if (!driver_.all)
      throw Unsupported("the driver has no memory that other nodes can map: it is older than CUDA 12.3");
    CUmemAllocationProp kind{};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id = device.index();
    kind.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
    try {
      std::size_t piece = 1;
      check("cuMemGetAllocationGranularity", driver_.granularity(&piece, &kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
      size_ = (bytes + piece - 1) / piece * piece;
      if (imports != nullptr) {
        GpuFabricHandle handle = *imports;
        check("cuMemImportFromShareableHandle",
              driver_.from_handle(&memory_, handle.data(), CU_MEM_HANDLE_TYPE_FABRIC));
      } else {
        check("cuMemCreate", driver_.create(&memory_, size_, &kind, 0));
        check("cuMemExportToShareableHandle",
              driver_.to_handle(exports->data(), memory_, CU_MEM_HANDLE_TYPE_FABRIC, 0));
      }
      check("cuMemAddressReserve", driver_.reserve(&place_, size_, piece, 0, 0));
      check("cuMemMap", driver_.map(place_, size_, 0, memory_, 0));
      mapped_ = true;
      CUmemAccessDesc access{};
      access.location = kind.location;
      access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
      check("cuMemSetAccess", driver_.set_access(place_, size_, &access, 1));
    } catch (const RunError&) {
      free();
      throw;
    }
    begin_ = reinterpret_cast<unsigned char*>(place_);
  }
  ~FabricMemory() override {
    if (device_.used()) free();
  }

 private:
  void check(const char* call, CUresult code) {
    if (code == CUDA_ERROR_NOT_SUPPORTED || code == CUDA_ERROR_NOT_PERMITTED)
      throw Unsupported(std::string(call) + " of " + device_.name() +
                        (code == CUDA_ERROR_NOT_PERMITTED
                             ? ": not permitted: this process has no IMEX channel (/dev/nvidia-caps-imex-channels)"
                             : ": not supported by this GPU or its driver"));
    if (code != CUDA_SUCCESS) throw device_.failed(std::string(call) + " of", static_cast<cudaError_t>(code));
  }
  void free() noexcept {
    if (mapped_) driver_.unmap(place_, size_);
    if (place_ != 0) driver_.give_back(place_, size_);
    if (memory_ != 0) driver_.release(memory_);
  }

  const VirtualMemory& driver_ = VirtualMemory::instance();
  Device& device_;
  CUmemGenericAllocationHandle memory_ = 0;
  CUdeviceptr place_ = 0;
  bool mapped_ = false;
};

}  // namespace

std::unique_ptr<GpuMemory> shared_memory(Device& device, std::uint64_t bytes, GpuFabricHandle& handle) {
  return std::make_unique<FabricMemory>(device, bytes, &handle, nullptr);
}

std::unique_ptr<GpuMemory> mapped_memory(Device& device, std::uint64_t bytes, const GpuFabricHandle& handle) {
  return std::make_unique<FabricMemory>(device, bytes, nullptr, &handle);
}

std::unique_ptr<GpuMemory> device_memory(Device& device, std::uint64_t bytes) {
  return std::make_unique<DeviceMemory>(device, bytes);
}

int dma_buf_of(Device& device, const GpuMemory& memory) {
  device.use();
  decltype(cuMemGetHandleForAddressRange)* make = nullptr;
  if (!find("cuMemGetHandleForAddressRange", 11070, make)) return -1;
  int fd = -1;
  const std::uint64_t length = (memory.size() + kPage - 1) / kPage * kPage;
  const CUresult code =
      make(&fd, reinterpret_cast<CUdeviceptr>(memory.begin()), length, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  return code == CUDA_SUCCESS ? fd : -1;
}

std::unique_ptr<GpuMemory> pinned_memory(Device& device, std::uint64_t bytes, bool write_combined) {
  return std::make_unique<PinnedMemory>(device, bytes, write_combined);
}

std::unique_ptr<GpuMemory> pinned_in_place(Device& device, std::span<unsigned char> memory) {
  return std::make_unique<PinnedInPlace>(device, memory);
}

}  // namespace headrace::cuda
