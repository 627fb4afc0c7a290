// GPUs as NVIDIA's management library reports on them. Its header is not needed: layouts and numbers are part of the library's
// binary interface. A symbol that an old driver lacks leaves its value absent.
#include <algorithm>
#include <cctype>
#include <chrono>

#include "harness/backends/gpu_activity.h"
#include "harness/backends/library.h"

namespace headrace {
namespace {

using Code = int;              // nvmlReturn_t; 0 = success
constexpr Code kTooSmall = 7;  // NVML_ERROR_INSUFFICIENT_SIZE
constexpr unsigned kMostGpus = 64, kMostUsers = 4096;

/// nvmlUtilization_t [%]
struct Utilization {
  unsigned gpu, memory;
};

/// nvmlProcessInfo_t, since its second version
struct Process {
  unsigned pid;
  unsigned long long memory;  // all ones: not reported
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(Process) == 24);

/// nvmlProcessUtilizationSample_t
struct ProcessSample {
  unsigned pid;
  unsigned long long time_us;
  unsigned multiprocessors, memory, encoder, decoder;  // [%]
};
static_assert(sizeof(ProcessSample) == 32);

/// nvmlPciInfo_t
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char address[32];
};
static_assert(sizeof(PciInfo) == 68);

/// NVML writes "00000000:1B:00.0".
std::string tidy(const PciInfo& info) {
  std::string address(info.address, std::find(std::begin(info.address), std::end(info.address), '\0'));
  if (address.size() > 12) address.erase(0, address.size() - 12);
  std::transform(address.begin(), address.end(), address.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

class NvmlActivity final : public GpuActivity {
 public:
  NvmlActivity() {
    Code (*start)() = nullptr;
    Code (*count)(unsigned*) = nullptr;
    Code (*by_index)(unsigned, void**) = nullptr;
    Code (*pci)(void*, PciInfo*) = nullptr;
    Code (*name)(void*, char*, unsigned) = nullptr;
    unsigned number = 0;
    if (!library_.find("nvmlInit_v2", start) || !library_.find("nvmlDeviceGetCount_v2", count) ||
        !library_.find("nvmlDeviceGetHandleByIndex_v2", by_index) || start() != 0 || count(&number) != 0)
      return;
    library_.find("nvmlDeviceGetPciInfo_v3", pci);
    library_.find("nvmlDeviceGetName", name);
    library_.find("nvmlDeviceGetUtilizationRates", utilization_);
    library_.find("nvmlDeviceGetProcessUtilization", process_utilization_);
    if (!library_.find("nvmlDeviceGetComputeRunningProcesses_v3", processes_))
      library_.find("nvmlDeviceGetComputeRunningProcesses_v2", processes_);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    for (unsigned i = 0; i < std::min(number, kMostGpus); ++i) {
      Device one{.seen_us = static_cast<unsigned long long>(
                     std::chrono::duration_cast<std::chrono::microseconds>(now).count())};
      if (by_index(i, &one.handle) != 0) continue;
      PciInfo info{};
      char text[96] = {};
      if (pci && pci(one.handle, &info) == 0) one.pci_address = tidy(info);
      if (name && name(one.handle, text, sizeof text) == 0) one.name = text;
      devices_.push_back(std::move(one));
    }
  }

  bool any() const { return !devices_.empty(); }

  std::vector<GpuLook> look() override {
    std::vector<GpuLook> all;
    for (Device& device : devices_) {
      GpuLook one{.pci_address = device.pci_address, .name = device.name};
      if (Utilization now{}; utilization_ && utilization_(device.handle, &now) == 0) {
        one.busy = now.gpu / 100.0;
        one.memory_busy = now.memory / 100.0;
      }
      one.users = users(device);
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  struct Device {
    void* handle = nullptr;
    unsigned long long seen_us = 0;  // time of the newest sample of a process
    std::string pci_address{}, name{};
  };

  /// Asks with more room until all have some.
  template <class One, class Ask>
  static std::vector<One> listed(const Ask& ask) {
    for (unsigned room = 64; room <= kMostUsers; room *= 4) {
      std::vector<One> all(room);
      unsigned count = room;
      const Code code = ask(&count, all.data());
      if (code == kTooSmall) continue;
      all.resize(code == 0 ? std::min(count, room) : 0);
      return all;
    }
    return {};
  }

  std::vector<GpuUser> users(Device& device) const {
    std::vector<GpuUser> users;
    if (!processes_) return users;
    for (const Process& one :
         listed<Process>([&](unsigned*count, Process*to) { return processes_(device.handle, count, to); })) {
      const bool reported = one.memory != ~0ull;
      users.push_back({.pid = static_cast<int>(one.pid), .memory = reported ? one.memory : 0});
    }
    if (!process_utilization_) return users;
    const unsigned long long since = device.seen_us;
    const auto samples = listed<ProcessSample>(
        [&](unsigned* count, ProcessSample* to) { return process_utilization_(device.handle, to, count, since); });
    for (GpuUser& user : users) {
      double sum = 0;
      unsigned count = 0;
      for (const ProcessSample& one : samples) {
        if (static_cast<int>(one.pid) != user.pid || one.time_us <= since) continue;
        sum += one.multiprocessors / 100.0;
        ++count;
        device.seen_us = std::max(device.seen_us, one.time_us);
      }
      if (count > 0) user.busy = sum / count;
    }
    return users;
  }

  const Library library_{"libnvidia-ml.so.1"};
  std::vector<Device> devices_;
  Code (*utilization_)(void*, Utilization*) = nullptr;
  Code (*processes_)(void*, unsigned*, Process*) = nullptr;
  Code (*process_utilization_)(void*, ProcessSample*, unsigned*, unsigned long long) = nullptr;
};

}  // namespace

NvmlStart start_nvml() {
  const Library library{"libnvidia-ml.so.1"};
  NvmlStart start;
  Code (*init)() = nullptr;
  Code (*version)(char*, unsigned) = nullptr;
  if (!library.find("nvmlInit_v2", init)) return start;
  start.code = init();
  char text[96] = {};
  // Reported before the start, too. It begins with CUDA's version: "13.580.82.07".
  if (library.find("nvmlSystemGetNVMLVersion", version) && version(text, sizeof text) == 0)
    start.library = std::string(text).substr(std::string(text).find('.') + 1);
  return start;
}

std::unique_ptr<GpuActivity> gpu_activity() {
  auto nvml = std::make_unique<NvmlActivity>();
  if (!nvml->any()) return nullptr;
  return nvml;
}

}  // namespace headrace
