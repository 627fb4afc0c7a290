// From the hosts of a cluster to the parts of its fabric.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/posterior.h"
#include "harness/network/hosts_file.h"

namespace headrace::bringup {

/// Nodes in the order of `hosts`; their switches, or racks where no switch is told. `names`: of the switches.
Topology topology_of(const std::vector<Host>& hosts, std::vector<std::string>& names);

}  // namespace headrace::bringup
