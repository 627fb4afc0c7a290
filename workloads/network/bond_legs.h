// Over how many cards' ports an RDMA port goes: a bond's device reports the rate of one of them, and a queue pair takes one.
#pragma once

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "harness/backends/rdma.h"

namespace headrace::network {

/// 1 where it is over no bond. `root` is where /sys is looked for; tests lay their own.
inline unsigned legs_of(const RdmaPort& port, const std::string& root = "") {
  std::ptrdiff_t legs = 1;
  for (const RdmaGid& gid : port.gids) {
    if (gid.interface.empty()) continue;
    std::ifstream slaves(root + "/sys/class/net/" + gid.interface + "/bonding/slaves");
    legs =
        std::max(legs, std::distance(std::istream_iterator<std::string>(slaves), std::istream_iterator<std::string>()));
  }
  return static_cast<unsigned>(legs);
}

}  // namespace headrace::network
