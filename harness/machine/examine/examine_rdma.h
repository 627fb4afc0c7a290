// An expert's remarks on this node's RDMA ports beyond /sys. They cover addresses of connections, and registration of
// memory.
#pragma once

#include <vector>

#include "harness/backends/rdma.h"
#include "harness/machine/examine/examine.h"
#include "harness/machine/limits.h"

namespace headrace::system {

/// Findings of section "RDMA"; `locked` is the limit on locked memory, which does not hold if `unlimited`. Never throws.
std::vector<Finding> examine_rdma(const RdmaBackend& backend, const Limit& locked, bool unlimited);

}  // namespace headrace::system
