#include "harness/backends/cuda/device.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>

#include "harness/backends/cuda/blas.h"
#include "harness/backends/cuda/cufile.h"
#include "harness/backends/cuda/memory.h"
#include "harness/backends/cuda/nvjpeg.h"
#include "harness/backends/cuda/nvml.h"
#include "harness/backends/cuda/status.h"
#include "harness/backends/cuda/stream.h"

namespace headrace::cuda {
namespace {

std::atomic<bool> any_lost{false};

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  char pair[3];
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    std::snprintf(pair, sizeof pair, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += pair;
  }
  return text;
}

int numa_node(const std::string& address) {
  std::ifstream file("/sys/bus/pci/devices/" + address + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

}  // namespace

std::string pci_address(int index) {
  char text[32] = {};
  if (cudaDeviceGetPCIBusId(text, sizeof text, index) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  std::string address = text;
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

Device::Device(int index, std::string name) : index_(index), name_(std::move(name)) {
  cudaDeviceProp properties{};
  if (const auto code = cudaGetDeviceProperties(&properties, index); code != cudaSuccess)
    throw cuda_error("describe", name_, code);
  facts_.name = properties.name;
  facts_.driver = Nvml::instance().driver_version();
  facts_.uuid = uuid_text(properties.uuid);
  facts_.memory = properties.totalGlobalMem;
  facts_.cache = static_cast<std::uint64_t>(std::max(properties.l2CacheSize, 0));
  facts_.pci_address = pci_address(index);
  facts_.numa_node = numa_node(facts_.pci_address);
  facts_.coherent = properties.pageableMemoryAccessUsesHostPageTables != 0;
  const Nvml& nvml = Nvml::instance();
  nvml_ = nvml.device(facts_.pci_address);
  facts_.link_max = nvml.link_max(nvml_);
  facts_.own_generation = nvml.own_generation(nvml_);
  facts_.slice = nvml.is_sliced(nvml_);
  facts_.refuses = nvml.refuses(nvml_);
  facts_.nvlinks = nvml.links().nvlinks(nvml_);
  facts_.c2c = nvml.links().c2c(nvml_);
  facts_.fabric = nvml.links().fabric(nvml_);
  facts_.fabric_group = nvml.links().fabric_group(nvml_);
  nvml.watch_errors(nvml_);
}

GpuState Device::state() { return hangs_ ? GpuState{} : Nvml::instance().state(nvml_); }

std::string Device::lost() const {
  if (!lost_ && !hangs_) return "";
  const std::lock_guard lock(mutex_);
  return why_;
}

std::optional<std::uint64_t> Device::free_memory() {
  use();
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) == cudaSuccess) return free;
  cudaGetLastError();
  return std::nullopt;
}
std::unique_ptr<GpuMemory> Device::allocate(std::uint64_t bytes) { return device_memory(*this, bytes); }

std::unique_ptr<GpuMemory> Device::pinned(std::uint64_t bytes, bool write_combined) {
  return pinned_memory(*this, bytes, write_combined);
}

std::unique_ptr<GpuMemory> Device::pin(std::span<unsigned char> memory) { return pinned_in_place(*this, memory); }

int Device::dma_buf(const GpuMemory& memory) { return dma_buf_of(*this, memory); }

std::unique_ptr<GpuMemory> Device::share(std::uint64_t bytes, GpuFabricHandle& handle) {
  return shared_memory(*this, bytes, handle);
}

std::unique_ptr<GpuMemory> Device::map(const GpuFabricHandle& handle, std::uint64_t bytes) {
  return mapped_memory(*this, bytes, handle);
}

std::unique_ptr<GpuStream> Device::stream() { return std::make_unique<Stream>(*this); }

std::unique_ptr<GpuImageDecoder> Device::image_decoder(GpuStream& stream, unsigned batch, unsigned host_threads,
                                                       bool hardware) {
  return make_image_decoder(*this, static_cast<Stream&>(stream), batch, host_threads, hardware);
}

std::unique_ptr<GpuMultiplier> Device::multiplier(GpuStream& stream, const GpuMatrices& matrices) {
  return make_multiplier(*this, static_cast<Stream&>(stream), matrices);
}

bool Device::reaches(Gpu& other) {
  const int peer = static_cast<Device&>(other).index();
  int can = 0;
  use();
  if (cudaDeviceCanAccessPeer(&can, index_, peer) != cudaSuccess || can == 0) {
    cudaGetLastError();
    return false;
  }
  const cudaError_t code = cudaDeviceEnablePeerAccess(peer, 0);
  if (code != cudaSuccess) cudaGetLastError();
  return code == cudaSuccess || code == cudaErrorPeerAccessAlreadyEnabled;
}

std::unique_ptr<GpuFileReader> Device::file_reader(const FileTable& files, std::span<const std::uint32_t> selected,
                                                   const GpuMemory& memory) {
  use();
  return CuFile::instance().reader(files, selected, memory, facts_.uuid);
}

void Device::use() {
  check();
  if (const auto code = cudaSetDevice(index_); code != cudaSuccess) throw failed("use", code);
}

/// A copy between two GPUs fails with the same code whichever is broken. The driver's counters show which one.
void Device::give_up(const std::string& why, cudaError_t code) {
  const std::lock_guard lock(mutex_);
  if (why_.empty()) why_ = why;
  hangs_ = hangs_ || code == cudaSuccess;
  const Nvml& nvml = Nvml::instance();
  if (is_of_hardware(code))
    lost_ = lost_ || nvml_ == nullptr || code == cudaErrorNvlinkUncorrectable || nvml.is_lost(nvml_) ||
            (code == cudaErrorECCUncorrectable && nvml.uncorrected(nvml_) != 0);
  given_up_ = true;
  any_lost = true;
}

void Device::throw_given_up() const {
  const std::lock_guard lock(mutex_);
  throw RunError(name_ + " was given up: " + why_);
}

bool Device::any_given_up() { return any_lost; }

}  // namespace headrace::cuda
