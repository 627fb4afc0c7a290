#include "harness/base/code_points.h"

namespace headrace {

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
  if (size == 0 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[size] || code > 0x10ffff || surrogate) return {};
  return {code, size};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.size == 0) return false;
    text.remove_prefix(c.size);
  }
  return true;
}

std::u32string python_name(std::string_view name) {
  std::u32string characters;
  while (!name.empty()) {
    const Character c = first_character(name);
    characters += c.size > 0 ? c.code : 0xdc00 + static_cast<unsigned char>(name[0]);
    name.remove_prefix(c.size > 0 ? c.size : 1);
  }
  return characters;
}

}  // namespace headrace
