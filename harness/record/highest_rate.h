// The metric of a ramp that is no rate where it is 0.
#pragma once

#include <string_view>

namespace headrace {

/// The highest rate that held; 0 where none did.
inline constexpr std::string_view kHighestRate = "highest_rate";

}  // namespace headrace
