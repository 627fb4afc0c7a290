// The names in a folder.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// Sorted, without "." and "..". Throws RunError when `folder`, a descriptor, cannot be listed.
std::vector<std::string> entries_of(int folder);

}  // namespace headrace::system
