// What somebody who knows GPU nodes would say of this one's GPUs.
#pragma once

#include <vector>

#include "harness/backends/gpu.h"
#include "harness/machine/examine/examine.h"
#include "harness/machine/network_links.h"

namespace headrace::system {

/// Findings of section "gpus": links, places, clocks, errors. `links` tell where RDMA cards are.
std::vector<Finding> examine_gpus(GpuBackend& backend, const std::vector<NetworkLink>& links);

}  // namespace headrace::system
