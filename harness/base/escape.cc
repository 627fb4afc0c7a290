#include "harness/base/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>

#include "harness/base/printable.h"

namespace headrace {

namespace {

bool is_number(std::string_view text) {
  double value;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// Does a spreadsheet take a cell that begins so for a formula? The last four are full-width forms of the first four, which Excel
/// takes alike.
bool begins_formula(std::string_view text) {
  constexpr std::string_view kBegins[] = {"=", "+", "-", "@", "\t", "\r", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"};
  return std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view one) { return text.starts_with(one); });
}

/// In the quotes of bash, zsh and ksh that take escapes.
std::string escaped_word(std::string_view text) {
  std::string out = "$'";
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c < ' ' || c > '~')  // all bytes of UTF-8, too
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string{c};
  }
  return out + "'";
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (is_number(text)) return std::string(text);
  // Where the list separator is ';' or a tab, a new cell begins behind one, even within quotes.
  constexpr std::string_view kCellEnds = ";\t\r\n";
  std::string cell;
  bool begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins && begins_formula(text.substr(i))) cell += '\'';
    begins = kCellEnds.find(text[i]) != kCellEnds.npos;
    if (text[i] == '"') cell += '"';
    cell += text[i];
  }
  return text.find_first_of(",\"\r\n") == text.npos ? cell : '"' + cell + '"';
}

std::string sh_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,=";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_word(std::string_view text) { return printable(text) == text ? sh_word(text) : escaped_word(text); }

std::string prometheus_label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace headrace
