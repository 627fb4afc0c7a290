#include "harness/observe/calls/strace_line.h"

#include <charconv>

namespace headrace::observe::calls {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class Number>
bool take_number(std::string_view& text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
}

/// Behind "3<": the end of the target. Paths have their own '<' and '>' escaped; pairs of addresses are in brackets.
std::size_t end_of_target(std::string_view text, std::size_t at) {
  int brackets = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '[' && text[at - 1] == ':') ++brackets;
    if (text[at] == ']' && brackets > 0) --brackets;
    if (text[at] == '>' && brackets == 0) return at;
  }
  return text.npos;
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at;
  }
  return text.npos;
}

}  // namespace

std::optional<StraceHead> parse_strace_head(std::string_view line) {
  StraceHead head;
  skip_blanks(line);
  if (line.starts_with("[pid")) {
    line.remove_prefix(4);
    skip_blanks(line);
    if (!take_number(line, head.tid) || !line.starts_with(']')) return std::nullopt;
    line.remove_prefix(1);
    skip_blanks(line);
  }
  std::string_view number = line;
  std::uint64_t whole = 0;
  if (!take_number(number, whole)) return std::nullopt;
  if (number.starts_with(' ') && head.tid == 0) {  // the thread's
    head.tid = static_cast<int>(whole);
    line = number;
    skip_blanks(line);
    number = line;
    if (!take_number(number, whole)) return std::nullopt;
  }
  double seconds = static_cast<double>(whole);
  for (int part = 0; part < 2 && number.starts_with(':'); ++part) {  // of the day
    number.remove_prefix(1);
    std::uint64_t next = 0;
    if (!take_number(number, next)) return std::nullopt;
    seconds = seconds * 60 + static_cast<double>(next);
  }
  if (!number.starts_with('.')) return std::nullopt;  // whole seconds show nothing of a call
  number.remove_prefix(1);
  double unit = 0.1;
  while (!number.empty() && is_digit(number.front())) {
    seconds += unit * (number.front() - '0');
    unit /= 10;
    number.remove_prefix(1);
  }
  if (!number.starts_with(' ')) return std::nullopt;
  skip_blanks(number);
  head.time_s = seconds;
  head.rest = number;
  return head;
}

std::optional<StraceFd> parse_strace_fd(std::string_view text) {
  StraceFd fd;
  if (text.starts_with("AT_FDCWD")) {
    fd.working_folder = true;
    text.remove_prefix(8);
  } else if (!take_number(text, fd.number)) {
    return std::nullopt;
  }
  if (text.starts_with('<')) {
    const std::size_t end = end_of_target(text, 1);
    if (end == text.npos) return std::nullopt;
    // Escaped as strings are, without quotes.
    fd.target = parse_strace_string('"' + std::string(text.substr(1, end - 1)) + '"').value_or("");
  }
  return fd;
}

std::optional<StraceCall> parse_strace_call(std::string_view text) {
  StraceCall call;
  std::size_t at = 0;
  while (at < text.size() && (is_digit(text[at]) || text[at] == '_' || (text[at] >= 'a' && text[at] <= 'z'))) ++at;
  if (at == 0 || at >= text.size() || text[at] != '(') return std::nullopt;
  call.name = text.substr(0, at);
  int depth = 0;
  std::size_t begin = ++at;
  const auto argument = [&](std::size_t end) {
    std::string_view one = text.substr(begin, end - begin);
    skip_blanks(one);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (!one.empty()) call.arguments.push_back(one);
    begin = end + 1;
  };
  for (;; ++at) {
    if (at >= text.size()) return std::nullopt;
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      if (at == text.npos) return std::nullopt;
    } else if (c == '<' && at > 0 && (is_digit(text[at - 1]) || text[at - 1] == 'D')) {
      at = end_of_target(text, at + 1);
      if (at == text.npos) return std::nullopt;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' && depth == 0) {
      argument(at);
      break;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      argument(at);
    }
  }
  std::string_view rest = text.substr(at + 1);
  skip_blanks(rest);
  if (!rest.starts_with("=")) return std::nullopt;
  rest.remove_prefix(1);
  skip_blanks(rest);
  if (const std::size_t mark = rest.rfind(" <"); rest.ends_with('>') && mark != rest.npos) {
    const std::string_view number = rest.substr(mark + 2, rest.size() - mark - 3);
    double seconds = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), seconds);
    if (error == std::errc() && end == number.data() + number.size()) {
      call.seconds = seconds;
      rest = rest.substr(0, mark);
    }
  }
  call.result = rest;
  return call;
}

std::optional<std::string> parse_strace_string(std::string_view text) {
  if (text.size() < 2 || text.front() != '"') return std::nullopt;
  const std::size_t end = end_of_string(text, 0);
  if (end == text.npos) return std::nullopt;
  std::string made;
  for (std::size_t at = 1; at < end; ++at) {
    if (text[at] != '\\') {
      made += text[at];
      continue;
    }
    const char c = text[++at];
    if (c >= '0' && c <= '7') {
      int value = 0, digits = 0;
      for (; digits < 3 && at < end && text[at] >= '0' && text[at] <= '7'; ++digits, ++at)
        value = value * 8 + (text[at] - '0');
      made += static_cast<char>(value);
      --at;
    } else if (c == 'x') {
      int value = 0;
      const auto [next, error] = std::from_chars(text.data() + at + 1, text.data() + std::min(end, at + 3), value, 16);
      if (error != std::errc()) return std::nullopt;
      made += static_cast<char>(value);
      at = static_cast<std::size_t>(next - text.data()) - 1;
    } else {
      constexpr std::string_view kNames = "ntrfvab", kAre = "\n\t\r\f\v\a\b";
      const std::size_t which = kNames.find(c);
      made += which == kNames.npos ? c : kAre[which];
    }
  }
  return made;
}

}  // namespace headrace::observe::calls
