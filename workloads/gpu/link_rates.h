// What a GPU's link and the host allow a copy to reach, by formulas B6 to B10 of the reference.
#pragma once

#include <string>

#include "harness/backends/gpu.h"

namespace headrace {

/// B6: one direction after line encoding [B/s]; 0 when the link is not reported or of an unknown
/// generation.
double link_raw_bandwidth(const PcieLink& link);

/// The same for the present link of a GPU to its host, also NVLink-C2C, whose rate the driver reports.
double link_raw_bandwidth(const GpuFacts& facts, const PcieLink& now);

/// B7: what packet headers leave of `raw` with packets of `max_payload` bytes [B/s].
double link_effective_bandwidth(double raw, unsigned max_payload);

/// Largest payload of the PCIe packets that this device may send [B]. 0 = not reported (its whole configuration space
/// is root's to read). `root` has /sys; tests set their own.
unsigned pcie_max_payload(const std::string& pci_address, const std::string& root = "");

/// B8 and B9: bounds of a copy of pageable memory [B/s]; both rates > 0.
struct PageableBounds {
  double serial = 0;     // staging and transfer one after the other
  double pipelined = 0;  // staging in parallel with the transfer
};
PageableBounds pageable_bounds(double memcpy_rate, double pinned_rate);

/// B10: copy time that compute does not hide [s].
double exposed_copy_time(double batch_bytes, double rate, double compute_s, bool asynchronous);

}  // namespace headrace
