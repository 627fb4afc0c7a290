// From the hosts of a cluster to the parts of its fabric.
#pragma once

#include "harness/bringup/posterior.h"
#include "harness/bringup/record.h"

namespace headrace::bringup {

/// Nodes in the order of the record's; their switches, or racks where no switch is told, whose names it sets; and its rails, with
/// those of RDMA that are known by now.
Topology topology_of(Record& record);

}  // namespace headrace::bringup
