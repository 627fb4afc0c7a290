// GPUs that are on the PCI bus and that their driver cannot use.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// PCI addresses of NVIDIA's functions that are not `listed` (usable by the driver). They have fallen off the bus or
/// could not be started. Excluded are those of another driver (vfio-pci), and those that a container or a control group
/// keeps from this process. Display adapters of a model that is not listed are excluded, too. Where an address in
/// `listed` is "", numbers are compared. `root` has /sys, /proc and /dev; tests set their own.
std::vector<std::string> lost_gpus(const std::vector<std::string>& listed, const std::string& root = "");

/// Where no GPU can be used: the existing GPUs, and the possible measurements, in one line: "no GPU that headrace
/// drives (8 of AMD): storage, ... can be measured".
std::string without_gpus(const std::string& root = "");

}  // namespace headrace::system
