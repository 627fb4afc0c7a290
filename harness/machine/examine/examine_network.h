// What somebody who knows clusters would say of this node's network ports.
#pragma once

#include <string>
#include <vector>

#include "harness/machine/examine/examine.h"
#include "harness/machine/network_links.h"

namespace headrace::system {

/// A NCCL_* variable that is set, as "NAME=value" in two parts.
struct Setting {
  std::string name, value;
};
/// All NCCL_* variables of this process.
std::vector<Setting> nccl_settings();

/// Findings of section "network". Never throws.
std::vector<Finding> examine_network(const std::vector<NetworkLink>& links, const std::vector<Setting>& settings);

}  // namespace headrace::system
