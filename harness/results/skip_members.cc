#include "harness/results/skip_members.h"

#include <algorithm>
#include <cstring>

namespace headrace::results {
namespace {

/// One past the closing quote of the string that begins at `at`. The end of the text when it does not end.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    const void* quote = std::memchr(text.data() + i, '"', text.size() - i);
    if (quote == nullptr) return text.size();
    i = static_cast<std::size_t>(static_cast<const char*>(quote) - text.data());
    std::size_t slashes = 0;
    while (slashes < i && text[i - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return i + 1;
  }
  return text.size();
}

std::size_t past_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && std::strchr(" \t\r\n", text[at]) != nullptr) ++at;
  return at;
}

/// One past the value that begins at `at`.
std::size_t end_of_value(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    switch (text[at]) {
      case '"':
        at = end_of_string(text, at);
        if (depth == 0) return at;
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth == 0) return at;  // the end of a plain value's holder
        if (--depth == 0) return at + 1;
        break;
      case ',':
        if (depth == 0) return at;
        break;
      default:
        break;
    }
    ++at;
  }
  return at;
}

}  // namespace

std::string skip_members(std::string_view text, std::span<const std::string_view> keys) {
  std::string out;
  out.reserve(text.size() / 8);
  std::size_t copied = 0, at = 0;
  while (at < text.size()) {
    const void* quote = std::memchr(text.data() + at, '"', text.size() - at);
    if (quote == nullptr) break;
    const auto begin = static_cast<std::size_t>(static_cast<const char*>(quote) - text.data());
    const std::size_t end = end_of_string(text, begin), colon = past_blanks(text, end);
    at = end;
    if (colon >= text.size() || text[colon] != ':') continue;
    const std::string_view key = text.substr(begin + 1, end - begin - 2);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
    const std::size_t value = past_blanks(text, colon + 1), past = end_of_value(text, value);
    if (past >= text.size()) break;  // ends in the middle: the parser reports it
    out.append(text.substr(copied, value - copied));
    out += "null";
    copied = at = past;
  }
  out.append(text.substr(copied));
  return out;
}

}  // namespace headrace::results
