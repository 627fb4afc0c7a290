// Text from outside, made safe for a terminal. Names, labels and messages of files, users and hosts can hold terminal
// commands, and characters that reverse or hide others.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// `text` with escapes for control characters, line breaks, characters for the writing direction and invisible ones:
/// "\n", "\u001b", "\u202e". Bytes that are no UTF-8 as "\xff". Printable text stays as it is, so that a second call
/// changes nothing.
std::string printable(std::string_view text);

/// The same for a text whose line breaks are its own. JSON stays the same value.
std::string printable_lines(std::string_view text);

}  // namespace headrace
