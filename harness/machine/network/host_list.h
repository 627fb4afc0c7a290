// Many host names as one word.
#pragma once

#include <string>
#include <vector>

namespace headrace {

/// "node[001-003,007],login": names that end with numbers of as many digits, as Slurm takes them.
std::string compressed(std::vector<std::string> names);

}  // namespace headrace
