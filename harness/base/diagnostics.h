// Problems in the user's files: where, what, and the allowed values. All of them are reported at once.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A place in a file or on the command line. Lines and columns count from 1; 0 means unknown.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

/// One problem. `text` starts with the key's path ("step.time: ...") and ends with the allowed values.
struct Diagnostic {
  Location where;
  std::string text;
};

/// "file:line:column: text"; parts that are unknown are left out.
std::string to_string(const Diagnostic& diagnostic);

/// Collects problems, so that one look at the output is enough to mend a file.
class Diagnostics {
 public:
  void error(Location where, const std::string& text);
  bool empty() const { return errors_.empty(); }
  const std::vector<Diagnostic>& errors() const { return errors_; }
  /// Throws UsageError with every collected problem; does nothing when there is none.
  void throw_if_any() const;

 private:
  std::vector<Diagnostic> errors_;
};

/// The user's input cannot be used; nothing has run. Exit code 2. what() is the whole text, one problem a line.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A UsageError whose text has a line for each problem. In any other error's text a line break comes from a name or a
/// value, and is shown as one.
class UsageErrors : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The known word closest to `word` by edit distance, or "" when none is near enough to be meant.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// "; did you mean 'x'?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

/// "a, b, c".
std::string join(std::span<const std::string> words, std::string_view separator = ", ");

}  // namespace headrace
