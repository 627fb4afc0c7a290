#include "harness/base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "harness/base/code_points.h"

namespace headrace {
namespace {

struct Range {
  std::uint32_t first, last;
};

/// Unicode's controls (Cc), invisible formats (Cf), separators of lines and paragraphs, and fillers.
constexpr std::array kHidden{
    Range{0x0000, 0x001f},   Range{0x007f, 0x009f},   Range{0x00ad, 0x00ad}, Range{0x034f, 0x034f},
    Range{0x061c, 0x061c},   Range{0x115f, 0x1160},   Range{0x17b4, 0x17b5}, Range{0x180b, 0x180f},
    Range{0x200b, 0x200f},   Range{0x2028, 0x202e},   Range{0x2060, 0x206f}, Range{0x3164, 0x3164},
    Range{0xfeff, 0xfeff},   Range{0xffa0, 0xffa0},   Range{0xfff0, 0xfffb}, Range{0x1bca0, 0x1bca3},
    Range{0x1d173, 0x1d17a}, Range{0xe0000, 0xe0fff},
};

bool hidden(std::uint32_t character) {
  return std::any_of(kHidden.begin(), kHidden.end(),
                     [&](const Range& range) { return range.first <= character && character <= range.last; });
}

/// As JSON writes it: above 16 bits as a pair of surrogates.
void escape(std::string& out, std::uint32_t code) {
  if (code == '\n')
    out += "\\n";
  else if (code == '\t')
    out += "\\t";
  else if (code == '\r')
    out += "\\r";
  else if (code < 0x10000)
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  else
    fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xd800 + ((code - 0x10000) >> 10),
                   0xdc00 + (code & 0x3ff));
}

std::string shown(std::string_view text, bool lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character c = first_character(text);
    const bool end_of_line = text[0] == '\n' || text.starts_with("\r\n");
    if (c.size == 0)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (hidden(c.code) && !(lines && (end_of_line || text[0] == '\t')))
      escape(out, c.code);
    else
      out.append(text.substr(0, c.size));
    text.remove_prefix(std::max<std::size_t>(c.size, 1));
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, false); }

std::string printable_lines(std::string_view text) { return shown(text, true); }

}  // namespace headrace
