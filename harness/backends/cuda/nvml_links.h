// Reports of the driver's management library on GPUs on the PCI bus, on NVLinks, and on their switches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/backends/library.h"

namespace headrace::cuda {

class NvmlLinks {
 public:
  /// Finds its functions in `library`, started or not; those that an old driver lacks leave values absent.
  explicit NvmlLinks(const Library& library);

  NvLinks nvlinks(void* device) const;
  C2cLinks c2c(void* device) const;
  /// As GpuFacts::fabric.
  std::string fabric(void* device) const;
  /// As GpuFacts::fabric_group.
  std::string fabric_group(void* device) const;
  /// As GpuState has them.
  std::optional<std::uint64_t> recoveries(void* device) const;
  std::optional<std::uint64_t> c2c_errors(void* device) const;
  std::string recovery(void* device) const;
  /// PCI addresses of all GPUs that it gives a handle for; nothing where it does not report.
  std::optional<std::vector<std::string>> addresses() const;
  std::optional<unsigned> up(void* device) const;
  std::optional<std::uint64_t> errors(void* device) const;

 private:
  using Code = int;  // nvmlReturn_t; 0 = success
  struct FieldValue;
  struct PciInfo;
  struct FabricInfo;

  std::optional<double> field(void* device, unsigned id, unsigned scope) const;
  std::string end_of(void* device, unsigned link) const;
  static std::string address_in(const PciInfo& info);
  bool fabric_info(void* device, FabricInfo& info) const;

  Code (*fields_)(void*, int, FieldValue*) = nullptr;
  Code (*state_)(void*, unsigned, int*) = nullptr;
  Code (*version_)(void*, unsigned, unsigned*) = nullptr;
  Code (*end_)(void*, unsigned, PciInfo*) = nullptr;
  Code (*end_type_)(void*, unsigned, unsigned*) = nullptr;
  Code (*error_counter_)(void*, unsigned, int, unsigned long long*) = nullptr;
  Code (*fabric_)(void*, FabricInfo*) = nullptr;  // nvmlDeviceGetGpuFabricInfoV, or the one before it
  bool fabric_has_health_ = false;
  Code (*count_)(unsigned*) = nullptr;
  Code (*by_index_)(unsigned, void**) = nullptr;
  Code (*pci_)(void*, PciInfo*) = nullptr;
};

}  // namespace headrace::cuda
