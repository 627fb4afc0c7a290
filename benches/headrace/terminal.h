// What the terminal can show: colours, symbols, width. Decided once from flags and environment.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "benches/headrace/verb.h"
#include "harness/verdict.h"

namespace headrace::cli {

enum class Ink { plain, good, bad, doubt, faint, strong };

/// One output stream's abilities. Colour: --color, NO_COLOR, FORCE_COLOR, TERM=dumb, is it a
/// terminal. Symbols: UTF-8 locale. Width: the terminal's, else 100 columns.
class Terminal {
 public:
  Terminal(std::FILE* stream, const Shared& shared);
  bool interactive() const { return interactive_; }
  bool ascii() const { return ascii_; }
  int width() const { return width_; }
  /// `text` in a colour, or as it is where there are no colours.
  std::string paint(std::string_view text, Ink ink) const;
  static Ink ink_of(Outcome outcome);

 private:
  bool interactive_ = false, color_ = false, ascii_ = false;
  int width_ = 100;
};

/// Columns a text takes: code points, escape sequences left out.
std::size_t columns(std::string_view text);
/// Filled with blanks to `width` columns, left- or right-aligned.
std::string pad(std::string_view text, std::size_t width, bool right = false);
/// `text` in lines of at most `width` columns, each after the first moved right by `indent` blanks.
std::string wrap(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace headrace::cli
