// Which network interfaces of this host are its rails.
#pragma once

#include <string>
#include <vector>

#include "harness/machine/network_links.h"

namespace headrace {

struct RailInterfaces {
  std::vector<std::string> names;     // one a rail
  std::vector<std::string> left_out;  // "docker0 (a bridge without a network card)"
};

/// Network interfaces of this host: those of `wanted` ("eth0, eth1"), in that order; of "" those rails_among() chooses of all
/// that are up and have an address.
RailInterfaces rail_interfaces(const std::string& wanted);

/// Cards, and bonds, teams, VLANs, macvlans and ipvlans over cards; where there are none, bridges with a card; where there are
/// none of these either, as in a container, all but bridges without a card and dummies. Members of a bond or a bridge are none.
/// In the order of their names, with numbers as numbers (eth2 before eth10).
RailInterfaces rails_among(const std::vector<system::NetworkLink>& links);

}  // namespace headrace
