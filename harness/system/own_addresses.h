// Under which addresses other hosts may reach this one.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// Numeric, of interfaces that are up, without those that mean something on their own link only;
/// loopback last. `interface`: of that one alone.
std::vector<std::string> own_addresses(const std::string& interface = "");

}  // namespace headrace::system
