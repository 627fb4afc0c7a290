// Under which addresses other hosts may reach this one.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

struct InterfaceAddress {
  std::string interface, address;  // "eth0", "10.78.0.3"
  bool loopback = false;
  bool operator==(const InterfaceAddress&) const = default;
};

/// Numeric, of interfaces that are up. `link_local`: also IPv6 addresses that mean something on their own link only.
std::vector<InterfaceAddress> interface_addresses(bool link_local = false);

/// The same, loopback last. `interface`: of that one alone.
std::vector<std::string> own_addresses(const std::string& interface = "");

}  // namespace headrace::system
