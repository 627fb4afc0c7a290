// What a program complained of at last.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

namespace headrace::agents {

/// The last line that says something; launchers draw frames of dashes.
inline std::string last_line(const std::string& text) {
  std::string last;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    const std::string line = text.substr(at, end - at);
    if (std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0; })) last = line;
    at = end + 1;
  }
  return last;
}

}  // namespace headrace::agents
