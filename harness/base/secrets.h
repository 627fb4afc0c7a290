// Secrets that this process sent to another machine: no answer may carry them into a file or onto a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headrace {

class Secrets {
 public:
  Secrets() = default;
  static constexpr std::size_t kWhole = -1;

  /// `window`: this many characters in a row of a secret give it away; kWhole = only all of it. Secrets shorter than 4
  /// characters are ignored: they would be found everywhere.
  explicit Secrets(const std::vector<std::string>& secrets, std::size_t window = 8);

  /// `text` with a '*' for each character of such a part of a secret. It finds lower and upper case, plain or escaped
  /// by URLs (%2B), XML (&#43;) and JSON (\u002b). Its length stays the same.
  std::string struck_out(std::string_view text) const;
  /// Is one of at least 16 characters in it, whole?
  bool whole_one_in(std::string_view text) const;

 private:
  std::vector<std::string> secrets_;  // in lower case
  std::size_t window_ = 0;
};

/// `text` with a '*' for each character of a run of hexadecimal digits that may be from a signature. That is 40 or
/// more, or 12 or more without upper-case ones. Escaped digits count as digits.
std::string signatures_struck_out(std::string_view text);

}  // namespace headrace
