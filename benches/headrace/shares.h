// Shares as options take them.
#pragma once

#include <string>

namespace headrace::cli {

/// "5%" or "0.05" as a share, between 0 and 1; `fallback` when nothing was given. Throws UsageError
/// that names the option.
double share_of(const std::string& option, const std::string& text, double fallback);

}  // namespace headrace::cli
