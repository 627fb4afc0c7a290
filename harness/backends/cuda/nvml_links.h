// What the driver's management library tells of a GPU's NVLinks, of those to its host's processor, and of the switches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/backends/gpu.h"
#include "harness/backends/library.h"

namespace headrace::cuda {

class NvmlLinks {
 public:
  /// Finds its functions in `library`, started or not; those that an old driver lacks leave values absent.
  explicit NvmlLinks(const Library& library);

  NvLinks nvlinks(void* device) const;
  C2cLinks c2c(void* device) const;
  std::string fabric(void* device) const;  // as GpuFacts::fabric
  std::optional<unsigned> up(void* device) const;
  std::optional<std::uint64_t> errors(void* device) const;

 private:
  using Code = int;  // nvmlReturn_t; 0 = success
  struct FieldValue;
  struct PciInfo;
  struct FabricInfo;

  std::optional<double> field(void* device, unsigned id, unsigned scope) const;
  std::string end_of(void* device, unsigned link) const;

  Code (*fields_)(void*, int, FieldValue*) = nullptr;
  Code (*state_)(void*, unsigned, int*) = nullptr;
  Code (*version_)(void*, unsigned, unsigned*) = nullptr;
  Code (*end_)(void*, unsigned, PciInfo*) = nullptr;
  Code (*end_type_)(void*, unsigned, unsigned*) = nullptr;
  Code (*error_counter_)(void*, unsigned, int, unsigned long long*) = nullptr;
  Code (*fabric_)(void*, FabricInfo*) = nullptr;
};

}  // namespace headrace::cuda
