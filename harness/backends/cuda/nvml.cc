// The library's header is not needed. Every function used takes an opaque handle and plain numbers, and its symbols are
// stable. A symbol that an old driver lacks leaves its value absent.
#include "harness/backends/cuda/nvml.h"

#include <array>
#include <string_view>
#include <utility>

namespace headrace::cuda {
namespace {

constexpr int kClockSm = 1, kClockMemory = 2;    // nvmlClockType_t
constexpr int kSensorGpu = 0;                    // nvmlTemperatureSensors_t
constexpr int kCorrected = 0, kUncorrected = 1;  // nvmlMemoryErrorType_t
constexpr int kSinceLoad = 0;                    // nvmlEccCounterType_t: volatile
constexpr unsigned long long kXid = 0x8;         // nvmlEventTypeXidCriticalError

// nvmlClocksEventReasons: those that hold a working GPU back. Not here: idle, and clocks that a user set.
constexpr std::array<std::pair<unsigned long long, std::string_view>, 5> kHoldBack{{
    {0x04, kPowerLimit},
    {0x08, "hardware slowdown"},
    {0x20, "thermal, by software"},
    {0x40, "thermal, by hardware"},
    {0x80, "power brake"},
}};

}  // namespace

/// nvmlEventData_t
struct Nvml::Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

const Nvml& Nvml::instance() {
  static const Nvml nvml;
  return nvml;
}

Nvml::Nvml() {
  Code (*start)() = nullptr;
  if (!library_.find("nvmlInit_v2", start) || start() != 0) return;
  ready_ = true;
  library_.find("nvmlSystemGetDriverVersion", driver_version_);
  library_.find("nvmlDeviceGetHandleByPciBusId_v2", by_address_);
  library_.find("nvmlDeviceGetCurrPcieLinkGeneration", generation_);
  library_.find("nvmlDeviceGetCurrPcieLinkWidth", width_);
  library_.find("nvmlDeviceGetMaxPcieLinkGeneration", max_generation_);
  library_.find("nvmlDeviceGetMaxPcieLinkWidth", max_width_);
  library_.find("nvmlDeviceGetGpuMaxPcieLinkGeneration", own_generation_);
  library_.find("nvmlDeviceGetPowerUsage", power_);
  library_.find("nvmlDeviceGetEnforcedPowerLimit", power_limit_);
  library_.find("nvmlDeviceGetPcieReplayCounter", replays_);
  if (!library_.find("nvmlDeviceGetCurrentClocksEventReasons", reasons_))  // before driver 535
    library_.find("nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
  library_.find("nvmlDeviceGetClockInfo", clock_);
  library_.find("nvmlDeviceGetTemperature", temperature_);
  library_.find("nvmlDeviceGetTotalEccErrors", ecc_);
  library_.find("nvmlDeviceGetMigMode", mig_);
  library_.find("nvmlDeviceGetComputeMode", compute_mode_);
  library_.find("nvmlDeviceGetRemappedRows", remapped_);
  library_.find("nvmlDeviceRegisterEvents", register_events_);
  library_.find("nvmlEventSetWait_v2", wait_event_);
  Code (*make_set)(void**) = nullptr;
  if (!library_.find("nvmlEventSetCreate", make_set) || make_set(&events_) != 0) events_ = nullptr;
}

void Nvml::watch_errors(void* device) const {
  if (device && events_ && register_events_)
    register_events_(device, kXid, events_);  // refused on slices: none is reported
}

/// Those that have come; waits for none.
void Nvml::collect_errors() const {
  if (!events_ || !wait_event_) return;
  constexpr unsigned kMany = 1000;  // a GPU that floods its driver
  Event event{};
  for (unsigned i = 0; i < kMany && wait_event_(events_, &event, 0) == 0; ++i)
    if (event.type == kXid) xids_[event.device].push_back(static_cast<unsigned>(event.data));
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  if (!ready_ || !driver_version_ || driver_version_(text, sizeof text) != 0) return "";
  return text;
}

void* Nvml::device(const std::string& pci_address) const {
  void* handle = nullptr;
  if (!ready_ || !by_address_ || by_address_(pci_address.c_str(), &handle) != 0) return nullptr;
  return handle;
}

PcieLink Nvml::link(void* device) const {
  PcieLink link;
  if (device && generation_ && generation_(device, &link.generation) != 0) link.generation = 0;
  if (device && width_ && width_(device, &link.width) != 0) link.width = 0;
  return link;
}

PcieLink Nvml::link_max(void* device) const {
  PcieLink link;
  if (device && max_generation_ && max_generation_(device, &link.generation) != 0) link.generation = 0;
  if (device && max_width_ && max_width_(device, &link.width) != 0) link.width = 0;
  return link;
}

unsigned Nvml::own_generation(void* device) const {
  unsigned number = 0;
  return device && own_generation_ && own_generation_(device, &number) == 0 ? number : 0;
}

bool Nvml::is_sliced(void* device) const {
  unsigned now = 0, later = 0;
  return device && mig_ && mig_(device, &now, &later) == 0 && now == 1;
}

std::string Nvml::refuses(void* device) const {
  constexpr int kExclusiveThread = 1, kProhibited = 2, kExclusiveProcess = 3;  // nvmlComputeMode_t
  int mode = 0;
  if (!device || !compute_mode_ || compute_mode_(device, &mode) != 0) return "";
  return mode == kProhibited                                     ? "all processes"
         : mode == kExclusiveProcess || mode == kExclusiveThread ? "a second process"
                                                                 : "";
}

bool Nvml::is_lost(void* device) const {
  constexpr Code kGpuIsLost = 15;  // NVML_ERROR_GPU_IS_LOST
  unsigned celsius = 0;
  return device && temperature_ && temperature_(device, kSensorGpu, &celsius) == kGpuIsLost;
}

std::optional<std::uint64_t> Nvml::uncorrected(void* device) const {
  unsigned long long count = 0;
  return ecc_ && ecc_(device, kUncorrected, kSinceLoad, &count) == 0 ? std::optional<std::uint64_t>(count)
                                                                     : std::nullopt;
}

GpuState Nvml::state(void* device) const {
  GpuState state;
  if (!device) return state;
  state.link = link(device);
  unsigned number = 0;
  unsigned long long count = 0;
  if (clock_ && clock_(device, kClockSm, &number) == 0) state.clock_hz = number * 1e6;
  if (clock_ && clock_(device, kClockMemory, &number) == 0) state.memory_clock_hz = number * 1e6;
  if (power_ && power_(device, &number) == 0) state.power_w = number * 1e-3;
  if (power_limit_ && power_limit_(device, &number) == 0) state.power_limit_w = number * 1e-3;
  if (temperature_ && temperature_(device, kSensorGpu, &number) == 0) state.temperature_c = number;
  if (replays_ && replays_(device, &number) == 0) state.replays = number;
  if (ecc_ && ecc_(device, kCorrected, kSinceLoad, &count) == 0) state.ecc_corrected = count;
  state.ecc_uncorrected = uncorrected(device);
  state.nvlink_errors = links_.errors(device);
  state.nvlinks_up = links_.up(device);
  state.link_recoveries = links_.recoveries(device);
  state.c2c_errors = links_.c2c_errors(device);
  state.recovery = links_.recovery(device);
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (remapped_ && remapped_(device, &corrected, &uncorrected, &pending, &failed) == 0) {
    state.remapped_rows = std::uint64_t{corrected} + uncorrected;
    state.remap_pending = pending != 0;
    state.remap_failed = failed != 0;
  }
  {
    const std::lock_guard lock(mutex_);
    collect_errors();
    std::swap(state.xids, xids_[device]);
  }
  if (reasons_ && reasons_(device, &count) == 0) {
    for (const auto& [bit, word] : kHoldBack) {
      if (count & bit) state.held_back += (state.held_back.empty() ? "" : ", ") + std::string(word);
    }
  }
  return state;
}

}  // namespace headrace::cuda
