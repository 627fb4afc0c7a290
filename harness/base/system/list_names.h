// Lists a folder. A listing that fails is an error; a partial list is never returned as a whole one.
#pragma once

#include <string>
#include <vector>

namespace headrace::system {

/// Appends the names in the folder at `path`, relative to the open folder `at` (or AT_FDCWD), without "." and "..", sorted.
/// Returns 0 or an errno; then `names` is incomplete.
int list_names(int at, const char* path, std::vector<std::string>& names);

}  // namespace headrace::system
