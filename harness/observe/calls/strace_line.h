// One line of strace's output, taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::observe::calls {

/// The head of every line: "[pid  17] " or "17  ", and "1700000000.123456 " (-ttt) or "10:11:12.123456 " (-tt).
struct StraceHead {
  int tid = 0;  // 0: none is given
  double time_s = 0;
  std::string_view rest;
};
/// Nothing where there is no time.
std::optional<StraceHead> parse_strace_head(std::string_view line);

/// A descriptor, with its target where -y was given: 3</data/a.bin>, AT_FDCWD</home>.
struct StraceFd {
  std::int64_t number = -1;
  bool working_folder = false;
  std::string target{};  // "" = not reported
};
/// Nothing where it is none.
std::optional<StraceFd> parse_strace_fd(std::string_view text);

/// "name(a, b, c) = result <0.000012>".
struct StraceCall {
  std::string_view name;
  std::vector<std::string_view> arguments;
  std::string_view result;  // "3</data>", "-1 ENOENT (No such file or directory)", "?"
  std::optional<double> seconds;
};
std::optional<StraceCall> parse_strace_call(std::string_view text);

/// The text of a string in quotes, its escapes undone; nothing where it is none.
std::optional<std::string> parse_strace_string(std::string_view text);

}  // namespace headrace::observe::calls
