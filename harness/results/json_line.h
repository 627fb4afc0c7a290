// Where in its text a value of a JSON document is.
#pragma once

#include <cstddef>
#include <string_view>

namespace headrace::results {

/// Both count from 1, columns in bytes.
struct TextLine {
  int line = 1, column = 1;
};
/// The line of a byte counted from 0; an offset behind the text means its end.
TextLine line_of(std::string_view text, std::size_t byte);

/// The first byte, counted from 0, of the value at a place such as "nodes[0].state". Where there is none, of the
/// innermost value around it. `text`: JSON, as parse_json() takes it.
std::size_t byte_of(std::string_view text, std::string_view place);

}  // namespace headrace::results
