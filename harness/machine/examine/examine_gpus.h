// An expert's remarks on this node's GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/backends/gpu.h"
#include "harness/backends/gpu_activity.h"
#include "harness/machine/examine/examine.h"
#include "harness/machine/kernel_log.h"
#include "harness/machine/network_links.h"

namespace headrace::system {

/// Findings of section "gpus": links, places, clocks, errors. `links` report where RDMA cards are, `log` what the kernel has
/// logged (nothing: it cannot be read). `root` is where /sys, /proc and /dev are looked for.
std::vector<Finding> examine_gpus(GpuBackend& backend, const std::vector<NetworkLink>& links,
                                  const std::optional<std::vector<LoggedError>>& log = std::vector<LoggedError>{},
                                  const std::string& root = "");

/// Findings on the driver, whether GPUs can be used or not.
std::vector<Finding> examine_driver(const NvmlStart& start, const std::string& root = "");
/// That its library is of another version than what the kernel runs, with both; "" = it is not.
std::string driver_fault(const NvmlStart& start, const std::string& root = "");

}  // namespace headrace::system
