// Breaking text.
#include "harness/requirements/wrap.h"

#include <algorithm>

namespace headrace::requirements {

std::string wrapped(std::string_view text, std::size_t indent, bool at_parts) {
  constexpr std::size_t kWidth = 100;
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const bool after_part = at_parts && !out.empty() && out.back() == ';';
    if (!out.empty() && (after_part || column + 1 + word.size() > kWidth)) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at = end + 1;
  }
  return out;
}

}  // namespace headrace::requirements
