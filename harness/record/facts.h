// Facts on how an operation was done.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace {

/// By name, in the order in which they are reported: "algorithm", "NVLS".
using Facts = std::vector<std::pair<std::string, std::string>>;

}  // namespace headrace
