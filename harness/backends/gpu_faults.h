// The faults in a GPU's facts and state: for runs, doctor and bring-up alike. Header-only, as gpu.h is.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/record/fault_counts.h"

namespace headrace {

/// The fatal ones of the reported Xids: "Xid 79 (the GPU has fallen off the bus), Xid 74 (an NVLink failed)".
inline std::string fatal_xids(const std::vector<unsigned>& xids, double& count) {
  std::string all;
  for (const unsigned xid : xids) {
    const Xid* known = find_xid(xid);
    if (known == nullptr || !known->fatal) continue;
    if (all.find(xid_in_words(xid)) == all.npos) all += (all.empty() ? "" : ", ") + xid_in_words(xid);
    ++count;
  }
  return all;
}

/// Faults of the GPU called `name` ("gpu3"), each by its count of fault_counts.h.
inline std::vector<PartFault> gpu_faults(const std::string& name, const GpuFacts& facts, const GpuState& state) {
  std::vector<PartFault> all;
  const auto add = [&](const char* count, double times, std::string text) {
    all.push_back({name, count, times, std::move(text)});
  };
  if (const auto errors = state.ecc_uncorrected.value_or(0); errors > 0)
    add("ecc_uncorrected", static_cast<double>(errors),
        std::to_string(errors) + " uncorrected memory errors (ECC) since the driver was loaded");
  if (state.remap_failed) add("remap_failed", 1, "a row of memory failed, and no spare row was left");
  if (state.remap_pending && !state.remap_failed) add("remap_pending", 1, "a row of memory waits to be remapped");
  if (facts.fabric_failed()) add("fabric_failed", 1, "the switches between GPUs: " + facts.fabric);
  double fatal = 0;
  if (std::string xids = fatal_xids(state.xids, fatal); fatal > 0) add("fatal_xids", fatal, std::move(xids));
  return all;
}

/// PCI addresses of the GPUs that the driver can use; "" where it does not report one. Nothing where it lists only a
/// part of them: slices, or those that this process was given.
inline std::optional<std::vector<std::string>> listed_gpus(GpuBackend& backend) {
  if (auto all = backend.listed()) return all;
  std::vector<std::string> own;
  for (unsigned i = 0; i < backend.count(); ++i) {
    const GpuFacts& facts = backend.gpu(i).facts();
    if (facts.slice) return std::nullopt;
    own.push_back(facts.pci_address);
  }
  return std::getenv("CUDA_VISIBLE_DEVICES") == nullptr ? std::optional(own) : std::nullopt;
}

/// The fault of a GPU at a PCI address that system::lost_gpus() reports.
inline PartFault lost_gpu(const std::string& address) {
  return {"GPU at " + address, "lost", 1, "it is on the PCI bus, but the driver cannot use it"};
}

/// Without the power limit, at which sound GPUs work: heat, and the hardware's own brakes. "" = neither.
inline std::string slowed_by_hardware(const std::string& held_back) {
  constexpr std::string_view kBetween = ", ";
  std::string rest = held_back;
  if (const std::size_t at = rest.find(kPowerLimit); at != rest.npos) rest.erase(at, kPowerLimit.size());
  if (rest.starts_with(kBetween)) rest.erase(0, kBetween.size());
  if (rest.ends_with(kBetween)) rest.erase(rest.size() - kBetween.size());
  return rest;
}

}  // namespace headrace
