// Which CPUs are near a storage device.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "harness/machine/block_device.h"

namespace headrace::system {

/// `cpus` with those near the device first, otherwise in the same order. Near: on its NUMA node, and where its
/// interrupts arrive if that is not everywhere. A completion that has to be sent on to another CPU costs, above all on
/// virtual machines.
std::vector<int> near_first(std::vector<int> cpus, const std::optional<BlockDevice>& device);

/// The share of each CPU in the interrupts of the lines `numbers` of /proc/interrupts, by CPU
/// number. Empty when there were none.
std::vector<double> interrupt_shares(std::string_view interrupts, const std::set<int>& numbers);

}  // namespace headrace::system
