// From the hosts of a cluster to the parts of its fabric.
#pragma once

#include <vector>

#include "harness/bringup/blame/posterior.h"
#include "harness/bringup/record.h"

namespace headrace::bringup {

/// The topologies of TCP, and of RDMA where any session measured it. Nodes in the order of the record's. Their
/// switches, or racks where no switch is reported, whose names it sets. Ends that the last session does not measure are
/// absent.
std::vector<Topology> topologies_of(Record& record);

/// A NIC that no partner gets through to is no part of the node any more.
void take_away(std::vector<Topology>& networks, unsigned node, unsigned rail);

}  // namespace headrace::bringup
