// Colours, symbols, width and alignment.
#include "benches/headrace/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace headrace::cli {
namespace {

bool set_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view text(value);
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos || text.find("UTF8") != text.npos;
  }
  return false;
}

/// COLUMNS, where it is exported: shells keep it to themselves.
int columns_in_environment() {
  const char* value = std::getenv("COLUMNS");
  const int columns = value == nullptr ? 0 : std::atoi(value);
  return columns >= 20 && columns <= 1000 ? columns : 0;
}

}  // namespace

Terminal::Terminal(std::FILE* stream, const Shared& shared) {
  const int fd = fileno(stream);
  const char* term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  interactive_ = isatty(fd) == 1 && !dumb;
  ascii_ = !utf8_locale();
  if (shared.color == "always") {
    color_ = true;
  } else if (shared.color == "auto") {
    color_ = set_in_environment("FORCE_COLOR") || (interactive_ && !set_in_environment("NO_COLOR"));
  }
  if (const int columns = columns_in_environment(); columns > 0) {
    width_ = columns;
    return;
  }
  winsize size{};
  if (interactive_ && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width_ = size.ws_col;
}

Text Terminal::paint(const Text& text, Ink ink) const {
  if (!color_ || ink == Ink::plain) return text;
  const char* code = ink == Ink::good    ? "32"
                     : ink == Ink::bad   ? "31"
                     : ink == Ink::doubt ? "33"
                     : ink == Ink::faint ? "2"
                                         : "1";
  return Text::own(std::string("\033[") + code + "m" + text.str() + "\033[0m");
}

Ink Terminal::ink_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::pass:
      return Ink::good;
    case Outcome::fail:
    case Outcome::error:
      return Ink::bad;
    case Outcome::inconclusive:
      return Ink::doubt;
    case Outcome::skipped:
    case Outcome::interrupted:
    case Outcome::incomplete:
    case Outcome::stale:
    case Outcome::measured:
      break;
  }
  return Ink::faint;
}

}  // namespace headrace::cli
