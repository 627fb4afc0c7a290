// Data that runs made on this host, taken away as `headrace clean` does.
#pragma once

#include <string>

namespace headrace::agents {

/// What stays of it, in words; "" = nothing does. Goes on when nobody waits for it any more: else data would stay.
std::string remove_scratch(const std::string& folder);

}  // namespace headrace::agents
