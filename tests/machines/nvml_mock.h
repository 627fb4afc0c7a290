// A libnvidia-ml.so.1 that reports on GPUs which a test describes: what headrace's reader of NVML is tested against.
#pragma once

#include <cstdint>

extern "C" {

/// A process on a GPU.
struct NvmlMockUser {
  unsigned pid = 0;
  unsigned long long memory = 0;
  unsigned busy = 0;  // [%]; 0: no sample reports on it
};

/// One GPU as NVML reports on it. Pointers must live as long as the library is used.
struct NvmlMockGpu {
  const char* pci_address = "";  // "0000:1b:00.0"
  unsigned generation = 0, width = 0, most_generation = 0, most_width = 0;
  bool mig = false;
  unsigned nvlinks = 0, nvlinks_up = 0;
  unsigned nvlink_version = 0;  // nvmlNvlinkVersion_t
  unsigned nvlink_mbps = 0;
  unsigned end_type = 0;              // nvmlIntNvLinkDeviceType_t
  const char* const* ends = nullptr;  // of each link, PCI addresses; nullptr = not reported
  unsigned long long link_errors = 0;
  const unsigned long long* symbol_errors = nullptr;  // of each link: one of generation 5, which has no other counters
  unsigned c2c = 0, c2c_up = 0, c2c_mbps = 0;
  unsigned char fabric = 0;  // nvmlGpuFabricState_t
  int fabric_status = 0;     // nvmlReturn_t of the registration
  unsigned fabric_health = 0, clique = 0;
  unsigned char cluster = 0;    // each byte of its UUID
  unsigned own_generation = 0;  // of PCI Express; 0 = not reported
  unsigned recovery = 0;        // nvmlDeviceGpuRecoveryAction_t
  bool blackwell = false;       // reports on the fields below, and of its recovery
  unsigned recoveries = 0, c2c_errors = 0;
  bool lost = false;  // has fallen off the bus
  unsigned remapped = 0;
  bool remap_pending = false, remap_failed = false;
  unsigned xid = 0;  // reported once
  unsigned long long throttle = 0;
  unsigned busy = 0, memory_busy = 0;  // [%]; both 0: not reported
  unsigned users = 0;                  // processes that have memory of it ...
  const NvmlMockUser* user = nullptr;  // ... and which
  int compute_mode = 0;                // nvmlComputeMode_t
};

/// From now on there are these. In a program that is started with NVML_MOCK_FILE there is one GPU: its file holds what it is
/// ("ADDRESS BUSY MEMORY_BUSY") and in further lines who uses it ("PID BYTES BUSY"), read anew whenever it is asked. NVML_MOCK_INIT
/// is the code that its start ends with.
void nvml_mock_set(const NvmlMockGpu* gpus, unsigned count);
}
