// Names chosen by patterns, as a shell does it.
#pragma once

#include <string_view>

namespace headrace {

/// Does all of `text` match? `*` matches any characters, or none; `?` matches one.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace headrace
