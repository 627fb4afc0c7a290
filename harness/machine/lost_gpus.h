// GPUs that are on the PCI bus and that their driver cannot use.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// PCI addresses of NVIDIA's functions that are not among `listed` (the addresses of the GPUs that the driver can use), as
/// those that have fallen off the bus or could not be started. Not those that another driver has (vfio-pci), that a container
/// or a control group keeps from this process, or that drive a display and are of no model that is listed. Where an address
/// in `listed` is "", numbers are compared. `root` is where /sys, /proc and /dev are looked for; tests lay their own.
std::vector<std::string> lost_gpus(const std::vector<std::string>& listed, const std::string& root = "");

/// Where no GPU can be used: what there is, and what can be measured all the same, in one line: "no GPU that headrace drives (8 of
/// AMD): storage, ... can be measured".
std::string without_gpus(const std::string& root = "");

}  // namespace headrace::system
