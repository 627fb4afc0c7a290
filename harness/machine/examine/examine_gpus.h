// What somebody who knows GPU nodes would say of this one's GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/machine/examine/examine.h"
#include "harness/machine/kernel_log.h"
#include "harness/machine/network_links.h"

namespace headrace::system {

/// Findings of section "gpus": links, places, clocks, errors. `links` report where RDMA cards are, `log` what the kernel has
/// logged (nothing: it cannot be read). `root` is where /sys, /proc and /dev are looked for.
std::vector<Finding> examine_gpus(GpuBackend& backend, const std::vector<NetworkLink>& links,
                                  const std::optional<std::vector<LoggedError>>& log = std::vector<LoggedError>{},
                                  const std::string& root = "");

}  // namespace headrace::system
