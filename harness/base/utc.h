// Moments as stored text.
#pragma once

#include <string>

namespace headrace {

/// Seconds since 1970, by this host's clock.
double wall_clock_s();

/// "2026-01-31T12:00:00.250Z": text, for a report page rounds numbers to seven digits.
std::string utc_text(double unix_s);

}  // namespace headrace
