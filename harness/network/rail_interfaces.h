// Which network interfaces of this host are its rails.
#pragma once

#include <string>
#include <vector>

namespace headrace {

/// Network interfaces of this host, one a rail: those of `wanted` ("eth0, eth1"), in that order; of
/// "" all that are up and have an address, only those with a device behind them where there are
/// any, in the order of their names with numbers as numbers (eth2 before eth10).
std::vector<std::string> rail_interfaces(const std::string& wanted);

}  // namespace headrace
