// Data that runs made on this host, taken away as `headrace clean` does.
#pragma once

#include <string>

namespace headrace::agents {

/// What stays of it, in words; "" = nothing does. `input`: once that ends, so does the cleaning.
std::string remove_scratch(const std::string& folder, int input);

}  // namespace headrace::agents
