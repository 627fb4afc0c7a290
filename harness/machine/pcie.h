// The generations of PCI Express.
#pragma once

#include <optional>

namespace headrace::system {

struct PcieGeneration {
  double gigatransfers_per_s;  // of each lane
  double encoding;             // share of the line that is data
};

/// Of generation 1 to 7; nothing for others.
std::optional<PcieGeneration> pcie_generation(unsigned number);

/// The generation whose lanes run at so many GT/s; 0: none does.
unsigned pcie_generation_at(double gigatransfers_per_s);

}  // namespace headrace::system
