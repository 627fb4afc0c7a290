// Breaking text for pages of 100 columns.
#pragma once

#include <string>
#include <string_view>

namespace headrace::requirements {

/// `text` in lines of at most 100 columns, of which the first starts at column `indent` and the
/// others are indented by it. Breaks at blanks; also after each ";" where `at_parts`.
std::string wrapped(std::string_view text, std::size_t indent, bool at_parts = false);

}  // namespace headrace::requirements
