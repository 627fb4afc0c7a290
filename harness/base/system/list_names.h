// Lists a folder. A listing that fails is an error; a partial list is never returned as a whole one.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// Appends the sorted names in the folder at `path`, without "." and "..". `path` is relative to the open folder `at`
/// (or AT_FDCWD). Returns 0 or an errno; then `names` is incomplete.
int list_names(int at, const char* path, std::vector<std::string>& names);

}  // namespace headrace::system
