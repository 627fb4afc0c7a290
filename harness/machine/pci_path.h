// Where PCI devices sit to each other: by which bridges and switches they are reached. And the generations of PCI Express.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace headrace::system {

/// From the root complex down, each bridge and switch on the way and the device itself last. {} where the kernel does
/// not report. `address`: "0000:17:00.0". `root` is where /sys is looked for; tests lay their own.
std::vector<std::string> pci_path(const std::string& address, const std::string& root = "");

/// How much of the way two devices share; more is nearer, 0 is another root complex.
unsigned shared_way(const std::vector<std::string>& a, const std::vector<std::string>& b);

/// Does the bridge send what devices below it write to each other up to the root complex (Access Control Services)? False
/// where the kernel does not report it: root alone can read it.
bool redirects_peers(const std::string& bridge, const std::string& root = "");

/// Is relaxed ordering off in a PCI Express device's own settings? False where the kernel does not report it: root alone can
/// read it. `device_path`: its folder in /sys.
bool keeps_strict_order(const std::string& device_path);

// The generations of PCI Express.

struct PcieGeneration {
  double gigatransfers_per_s;  // of each lane
  double encoding;             // share of the line that is data
};

/// PCIe generation 1 to 7; nothing for others.
std::optional<PcieGeneration> pcie_generation(unsigned number);

/// The generation whose lanes run at that many GT/s; 0: none does.
unsigned pcie_generation_at(double gigatransfers_per_s);

}  // namespace headrace::system
