// JSON text without some of its members, faster than it could be parsed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headrace::results {

/// `text` with the values of all members named in `keys`, wherever they stand, replaced by null.
/// What is not JSON comes out as something that is not JSON either: the parser reports.
std::string skip_members(std::string_view text, std::span<const std::string_view> keys);

}  // namespace headrace::results
