#include "benches/headrace/text.h"

namespace headrace::cli {
namespace {

/// The end of the character or colour that begins at `at`; `counts`: whether it takes a column.
std::size_t after(std::string_view text, std::size_t at, bool& counts) {
  counts = text[at] != '\033';
  if (!counts) return std::min(text.find('m', at), text.size() - 1) + 1;
  do ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

std::size_t columns_of(std::string_view text) {
  std::size_t n = 0;
  bool counts = false;
  for (std::size_t at = 0; at < text.size(); at = after(text, at, counts), n += counts) {
  }
  return n;
}

}  // namespace

std::size_t columns(const Text& text) { return columns_of(text.str()); }

Text pad(const Text& text, std::size_t width, bool right) {
  const std::size_t have = columns(text);
  const Text blanks = Text::own(std::string(have < width ? width - have : 0, ' '));
  return right ? blanks + text : text + blanks;
}

Text wrap(const Text& text, std::size_t width, std::size_t indent) {
  std::string_view rest = text.str();
  std::string result;
  std::size_t used = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find(' ');
    const std::string_view word = rest.substr(0, end);
    const std::size_t size = columns_of(word);
    if (used > 0 && used + 1 + size > width) {
      result += '\n' + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      result += ' ';
      ++used;
    }
    result += word;
    used += size;
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  }
  return Text::own(std::move(result));
}

Text cut(const Text& text, std::size_t width) {
  const std::string_view all = text.str();
  std::string kept;
  std::size_t used = 0;
  bool counts = false;
  for (std::size_t at = 0, next; at < all.size(); at = next) {
    next = after(all, at, counts);
    if (counts && ++used > width) continue;  // colours still end
    kept += all.substr(at, next - at);
  }
  return Text::own(std::move(kept));
}

}  // namespace headrace::cli
