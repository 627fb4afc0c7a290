// Reports of the driver's management library on a GPU. Loaded when it is there; nothing is ever set.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/cuda/nvml_links.h"
#include "harness/backends/gpu.h"
#include "harness/backends/library.h"

namespace headrace::cuda {

class Nvml {
 public:
  static const Nvml& instance();

  /// "580.65.06"; "" when there is no library.
  std::string driver_version() const;
  /// A handle for the GPU at a PCI address; null when it is not reported.
  void* device(const std::string& pci_address) const;
  PcieLink link(void* device) const;
  PcieLink link_max(void* device) const;
  unsigned own_generation(void* device) const;  // that a better slot would give it; 0 = not reported
  bool is_sliced(void* device) const;           // MIG mode is on
  /// Its compute mode refuses "all processes" (prohibited), "a second process" (exclusive process), or "" = none.
  std::string refuses(void* device) const;
  GpuState state(void* device) const;
  /// Does the driver say that it has fallen off the bus, or otherwise does not answer?
  bool is_lost(void* device) const;
  /// Memory errors since the driver was loaded; nothing where they are not counted.
  std::optional<std::uint64_t> uncorrected(void* device) const;
  const NvmlLinks& links() const { return links_; }
  /// From now on its Xid errors are kept for state().
  void watch_errors(void* device) const;

 private:
  Nvml();
  using Code = int;  // nvmlReturn_t; 0 = success
  using Number = Code(void*, unsigned*);
  using Long = Code(void*, unsigned long long*);

  struct Event;
  void collect_errors() const;

  Library library_{"libnvidia-ml.so.1"};
  bool ready_ = false;
  NvmlLinks links_{library_};
  void* events_ = nullptr;  // nvmlEventSet_t
  mutable std::mutex mutex_;
  mutable std::map<void*, std::vector<unsigned>> xids_;  // not asked for yet
  Code (*driver_version_)(char*, unsigned) = nullptr;
  Code (*by_address_)(const char*, void**) = nullptr;
  Number *generation_ = nullptr, *width_ = nullptr, *max_generation_ = nullptr, *max_width_ = nullptr,
         *own_generation_ = nullptr;
  Number *power_ = nullptr, *power_limit_ = nullptr, *replays_ = nullptr;
  Long* reasons_ = nullptr;
  Code (*clock_)(void*, int, unsigned*) = nullptr;
  Code (*temperature_)(void*, int, unsigned*) = nullptr;
  Code (*ecc_)(void*, int, int, unsigned long long*) = nullptr;
  Code (*mig_)(void*, unsigned*, unsigned*) = nullptr;
  Code (*compute_mode_)(void*, int*) = nullptr;
  Code (*remapped_)(void*, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
  Code (*register_events_)(void*, unsigned long long, void*) = nullptr;
  Code (*wait_event_)(void*, Event*, unsigned) = nullptr;
};

}  // namespace headrace::cuda
