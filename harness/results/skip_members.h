// JSON text without some of its members, faster than it could be parsed.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace headrace::results {

/// `text` with the values of all members named in `keys`, at any depth, replaced by null. Invalid JSON stays invalid:
/// the parser reports it.
std::string skip_members(std::string_view text, std::span<const std::string_view> keys);

}  // namespace headrace::results
