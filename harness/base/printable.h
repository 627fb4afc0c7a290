// Text from outside, as it may stand on a terminal: names, labels and messages of files, users and
// other hosts can hold commands to the terminal, and characters that reverse or hide what is
// beside them.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// `text` with every control character, line breaks too, every character that directs the order of
/// writing, and every invisible one as an escape: "\n", "\u001b", "\u202e"; bytes that are no UTF-8
/// as "\xff". What is printable already stays as it is, so that doing it twice changes nothing.
std::string printable(std::string_view text);

/// The same for a text whose line breaks are its own. JSON stays the same value.
std::string printable_lines(std::string_view text);

}  // namespace headrace
