// Text for people. Words that headrace wrote itself stay unchanged, with its line breaks and colours. Text from
// elsewhere is made printable when it is added, so that only harmless text can come out.
//
//   Text out = Text::format("{} on {}: {}\n", terminal.paint(point.id, Ink::strong), run.node,
//   why); print(out);
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "harness/base/printable.h"

namespace headrace::cli {

class Text;

/// How an argument of Text::format() goes in: as it is, or printable.
template <class T>
using Shown = std::conditional_t<std::same_as<T, Text>, std::string_view,
                                 std::conditional_t<std::convertible_to<const T&, std::string_view>, std::string, T>>;

class Text {
 public:
  Text() = default;
  /// A text of this program's source, as it is.
  template <std::size_t N>
  Text(const char (&own)[N]) : text_(own) {}
  template <std::size_t N>
  Text(char (&buffer)[N]) = delete;  // filled at run time: by whom?
  /// Anything else may come from outside.
  Text(std::string_view foreign) : text_(printable(foreign)) {}
  Text(const std::string& foreign) : Text(std::string_view(foreign)) {}
  template <std::same_as<const char*> T>
  Text(T foreign) : Text(std::string_view(foreign)) {}

  /// Text that may come from outside, in lines of its own.
  static Text lines(std::string_view foreign) { return own(printable_lines(foreign)); }
  /// Made by this program at run time: blanks, symbols, colours. Nothing foreign may be in it.
  static Text own(std::string made) {
    Text text;
    text.text_ = std::move(made);
    return text;
  }

  /// Each argument is a number, a Text, or a string, which is taken for foreign.
  template <class... Arguments>
  static Text format(fmt::format_string<Shown<Arguments>...> words, const Arguments&... arguments) {
    return own([&](const auto&... each) {
      return fmt::vformat(fmt::string_view(words), fmt::make_format_args(each...));
    }(shown(arguments)...));
  }

  const std::string& str() const { return text_; }
  bool empty() const { return text_.empty(); }

  Text& operator+=(const Text& more) {
    text_ += more.text_;
    return *this;
  }
  friend Text operator+(Text a, const Text& b) { return std::move(a += b); }

 private:
  template <class T>
  static Shown<T> shown(const T& value) {
    if constexpr (std::same_as<T, Text>) {
      return value.text_;
    } else if constexpr (std::convertible_to<const T&, std::string_view>) {
      return printable(value);
    } else {
      static_assert(std::is_arithmetic_v<T>, "a number, a string, or a Text");
      return value;
    }
  }

  std::string text_;
};

/// Columns it takes: code points, colours left out.
std::size_t columns(const Text& text);
/// Filled with blanks to `width` columns, left- or right-aligned.
Text pad(const Text& text, std::size_t width, bool right = false);
/// In lines of at most `width` columns, each after the first moved right by `indent` blanks.
Text wrap(const Text& text, std::size_t width, std::size_t indent);
/// Its beginning, at most `width` columns of it.
Text cut(const Text& text, std::size_t width);

}  // namespace headrace::cli
