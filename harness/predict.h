// What a formula of the reference says, for workloads that show it beside what they measured.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

namespace headrace {

/// predict("A9", {{"files_count", 1e6}, {"op_latency_s", 1e-3}, {"concurrency_count", 32}}): in the
/// formula's unit. Throws what the formula throws for values outside its domain; aborts on an
/// unknown formula or input.
double predict(std::string_view formula, std::initializer_list<std::pair<std::string_view, double>> inputs);

}  // namespace headrace
