// Counts of which one occurrence is a fault: their only table, and their values for a part of the machine.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A count that is judged absolutely: neither a disturbance nor a better repetition takes an occurrence back.
struct FaultCount {
  std::string_view name;     // of the metric, of PartFault::count, and of the fact of a GPU's section
  std::string_view subject;  // of doctor's finding: "memory"
  bool always = true;        // one is a fault of its part; else a need has to ask for it
  std::string_view fix;
};

inline constexpr FaultCount kFaultCounts[] = {
    {"wrong_elements", "results", true, "drain the node: results of this GPU are wrong; run dcgmi diag -r 3"},
    {"lost", "device", true,
     "drain the node; look for Xid 79 with dmesg, then reboot; if it is lost again, replace it"},
    {"ecc_uncorrected", "memory", true, "drain the node and reset the GPU; if errors come back, have it replaced"},
    {"remap_failed", "memory", true, "drain the node: the GPU has to be replaced"},
    {"remap_pending", "memory", true, "drain the node, and reset the GPU (nvidia-smi --gpu-reset) or reboot"},
    {"fatal_xids", "Xid", true, "drain the node; dmesg has the rest; reset the GPU, and replace it if that comes back"},
    {"fabric_failed", "fabric", true,
     "drain the node; look at the log of nvidia-fabricmanager (on NVL72: of the switch trays and nvidia-imex)"},
    {"wrong_messages", "data", true,
     "drain the node: data of this card is wrong; look at dmesg for PCIe errors (AER), then replace it"},
    {"port_failed", "port", true, "drain the node; look at dmesg, then reset the card or replace it"},
    {"error_count", "errors", false, ""},
};

/// nullptr: the count of that name is judged as any metric is.
constexpr const FaultCount* find_fault_count(std::string_view name) {
  const auto* at =
      std::find_if(std::begin(kFaultCounts), std::end(kFaultCounts), [&](const auto& one) { return one.name == name; });
  return at == std::end(kFaultCounts) ? nullptr : at;
}

/// A fault of a part of the machine.
struct PartFault {
  std::string part;   // "gpu3"
  std::string count;  // name of a FaultCount
  double times = 1;
  std::string text;  // "12 uncorrected memory errors (ECC) since the driver was loaded"
};

/// The fact of a part's section in a fingerprint: "fault_remap_failed".
inline constexpr std::string_view kFaultKey = "fault_";
inline std::string fault_key(std::string_view count) { return std::string(kFaultKey) + std::string(count); }

/// Adds missing ones: of each part and count the highest.
inline void add_faults(std::vector<PartFault>& all, const std::vector<PartFault>& more) {
  for (const PartFault& one : more) {
    const auto known = std::find_if(all.begin(), all.end(), [&](const PartFault& other) {
      return other.part == one.part && other.count == one.count;
    });
    if (known == all.end())
      all.push_back(one);
    else if (known->times < one.times)
      *known = one;
  }
}

}  // namespace headrace
