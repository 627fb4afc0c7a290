#include "harness/results/json_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace headrace::results {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

class Finder {
 public:
  Finder(std::string_view text, std::string_view wanted) : text_(text), wanted_(wanted) {}

  std::size_t find() {
    value("");
    return found_;
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool over() const { return at_ >= text_.size(); }
  void blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }

  /// Is what is wanted this value, or in it?
  bool is_around(std::string_view place) const {
    if (place.empty() || place == wanted_) return true;
    return wanted_.starts_with(place) && (wanted_[place.size()] == '.' || wanted_[place.size()] == '[');
  }

  void value(const std::string& place) {
    blanks();
    if (!is_around(place)) return skip();
    if (place.size() >= deepest_) {
      deepest_ = place.size();
      found_ = at_;
    }
    if (here() == '{' || here() == '[') return items(place);
    skip();
  }

  void items(const std::string& place) {
    const bool object = here() == '{';
    const char end = object ? '}' : ']';
    ++at_;
    blanks();
    for (std::size_t number = 0; !over() && here() != end; ++number) {
      std::string inner = fmt::format("{}[{}]", place, number);
      if (object) {
        const std::string_view key = string();
        inner = place.empty() ? std::string(key) : fmt::format("{}.{}", place, key);
        blanks();
        ++at_;  // the colon
      }
      value(inner);
      blanks();
      if (here() == ',') ++at_;
      blanks();
    }
    ++at_;
  }

  /// A string's inside, as it is written.
  std::string_view string() {
    const std::size_t begin = ++at_;
    for (; !over() && here() != '"'; ++at_)
      if (here() == '\\') ++at_;
    return text_.substr(begin, at_++ - begin);
  }

  void skip() {
    std::size_t depth = 0;
    do {
      if (here() == '"') {
        string();
        continue;
      }
      if (here() == '{' || here() == '[') ++depth;
      if (here() == '}' || here() == ']') --depth;
      ++at_;
    } while (!over() && (depth > 0 || (here() != ',' && here() != '}' && here() != ']' && !blank())));
  }
  bool blank() const { return kBlanks.find(here()) != kBlanks.npos; }

  const std::string_view text_, wanted_;
  std::size_t at_ = 0, found_ = 0, deepest_ = 0;
};

}  // namespace

TextLine line_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const std::size_t last = before.rfind('\n');
  return {static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(before.size() - (last == before.npos ? 0 : last + 1)) + 1};
}

std::size_t byte_of(std::string_view text, std::string_view place) { return Finder(text, place).find(); }

}  // namespace headrace::results
