// The terminal's abilities: colours, symbols, width. Decided once from flags and environment.
#pragma once

#include <algorithm>
#include <cstdio>

#include "benches/headrace/text.h"
#include "benches/headrace/verb.h"
#include "harness/judge/verdict/verdict.h"

namespace headrace::cli {

enum class Ink { plain, good, bad, doubt, faint, strong };

/// One output stream's abilities. Colour: --color, NO_COLOR, FORCE_COLOR, TERM=dumb, is it a
/// terminal. Symbols: UTF-8 locale. Width: COLUMNS where it is exported, the terminal's, else 100 columns.
class Terminal {
 public:
  Terminal(std::FILE* stream, const Shared& shared);
  bool interactive() const { return interactive_; }
  bool ascii() const { return ascii_; }
  int width() const { return width_; }
  /// The width of running text: the terminal's, at most 100 columns.
  std::size_t text_width() const { return static_cast<std::size_t>(std::clamp(width_, 30, 100)); }
  /// `text` in a colour, or as it is where there are no colours.
  Text paint(const Text& text, Ink ink) const;
  static Ink ink_of(Outcome outcome);

 private:
  bool interactive_ = false, color_ = false, ascii_ = false;
  int width_ = 100;
};

/// In lines as wide as running text, each after the first moved right by `indent` blanks.
inline Text in_lines(const Text& text, const Terminal& terminal, std::size_t indent) {
  return wrap(text, terminal.text_width() - indent, indent);
}

}  // namespace headrace::cli
