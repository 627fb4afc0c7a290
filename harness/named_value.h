// A value as people read it, by the need or metric that it belongs to: memory is told in GiB, all else in decimal units.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// `unit` as in unit_name(), or "ns". "22.1 GiB" for 23.7e9 B of host.prefetch_memory, "23.7 GB" for free_space.
std::string format_named(double value, std::string_view unit, std::string_view name);

}  // namespace headrace
