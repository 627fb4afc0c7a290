// Characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace headrace {

/// One character of a text; `size` is 0 where the bytes are no UTF-8.
struct Character {
  std::uint32_t code = 0;
  std::size_t size = 0;  // [B]
};

/// `text` has one byte at least.
Character first_character(std::string_view text);

/// Is the whole text UTF-8?
bool is_utf8(std::string_view text);

/// The characters of a file name as in Python: bytes that are no UTF-8 become U+DC80 to U+DCFF (PEP 383). Names compare
/// as Python's sorted() compares them.
std::u32string python_name(std::string_view name);

}  // namespace headrace
