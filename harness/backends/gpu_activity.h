// What GPUs do, and for which processes. It asks the driver; it uses no GPU and changes no setting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// A process that has memory of a GPU.
struct GpuUser {
  int pid = 0;               // as the driver numbers processes: outside of containers
  std::uint64_t memory = 0;  // [B]; 0 = not reported
  /// Share of the time that its kernels had multiprocessors since the last look. Drivers report it a few times a
  /// second, and only of those that had some.
  std::optional<double> busy{};
};

struct GpuLook {
  std::string pci_address;  // "0000:17:00.0": as /sys/bus/pci/devices names it; "" = not reported
  std::string name{};       // "NVIDIA H100 80GB HBM3"
  /// Share of the driver's last period (a sixth of a second to one) in which any kernel ran. Slices have none.
  std::optional<double> busy{};
  std::optional<double> memory_busy{};  // in which its memory was read or written
  std::vector<GpuUser> users{};
};

class GpuActivity {
 public:
  virtual ~GpuActivity() = default;
  /// All GPUs of this machine, always in the same order. May take as long as the driver likes; never throws.
  virtual std::vector<GpuLook> look() = 0;
};

/// How the driver's management library (NVML) started.
struct NvmlStart {
  static constexpr int kNotLoaded = 9, kOtherVersion = 18;  // NVML_ERROR_DRIVER_NOT_LOADED, ..._LIB_RM_VERSION_MISMATCH
  int code = 0;                                             // nvmlReturn_t; 0: well, or there is no library
  std::string library{};                                    // its version: "580.82.07"; "" = not reported
};
/// May take seconds.
NvmlStart start_nvml();

/// Starts the driver's management library, which may take seconds. nullptr: there is none here, or it reports on no GPU.
std::unique_ptr<GpuActivity> gpu_activity();

}  // namespace headrace
