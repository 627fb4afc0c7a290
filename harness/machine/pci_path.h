// Where PCI devices sit to each other: by which bridges and switches they are reached.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// From the root complex down, each bridge and switch on the way and the device itself last; {} where the kernel does not
/// report. `address`: "0000:17:00.0". `root` is where /sys is looked for; tests lay their own.
std::vector<std::string> pci_path(const std::string& address, const std::string& root = "");

/// How much of the way two devices share; more is nearer, 0 is another root complex.
unsigned shared_way(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace headrace::system
