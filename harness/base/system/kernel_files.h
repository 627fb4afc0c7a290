// Small reads from /proc and /sys, where a missing file is an answer and not an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

/// The whole file, or nothing when it cannot be read.
std::optional<std::string> read_text(const std::string& path);
/// Its first line without surrounding blanks; nothing when it cannot be read or is empty.
std::optional<std::string> read_line(const std::string& path);
/// Its first line as an unsigned number; nothing for "max", negative numbers and other words.
std::optional<std::uint64_t> read_number(const std::string& path);
/// The names in a folder, sorted; none where it is not there. Throws RunError at a limit on open files or memory.
std::vector<std::string> entries(const std::string& folder);
/// The text after "key:" or "key " at the start of a line, without surrounding blanks, as in /proc/meminfo.
std::optional<std::string> field(std::string_view text, std::string_view key);
/// Same, as a number; a unit behind it ("kB") is not applied.
std::optional<std::uint64_t> number_field(std::string_view text, std::string_view key);
/// The word in brackets of "always [madvise] never"; the whole text when there are none.
std::string chosen_of(std::string_view text);

std::string_view trim(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);  // empty parts are left out
/// The unsigned number that is words[at]; nothing where there is none.
std::optional<std::uint64_t> number_at(const std::vector<std::string>& words, std::size_t at);

}  // namespace headrace::system
