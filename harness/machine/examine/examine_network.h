// An expert's remarks on this node's network ports.
#pragma once

#include <string>
#include <vector>

#include "harness/machine/examine/examine.h"
#include "harness/machine/network/nccl_settings.h"
#include "harness/machine/network_links.h"

namespace headrace::system {

/// Findings of section "network". `settings`: of NCCL. `interfaces`: those that its sockets may use. Never throws.
std::vector<Finding> examine_network(const std::vector<NetworkLink>& links, const std::vector<NcclSetting>& settings,
                                     const std::vector<IpInterface>& interfaces);

}  // namespace headrace::system
