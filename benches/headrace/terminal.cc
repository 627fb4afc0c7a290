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
    return text.find("UTF-8") != text.npos || text.find("utf8") != text.npos ||
           text.find("UTF8") != text.npos;
  }
  return false;
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
  winsize size{};
  if (interactive_ && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) width_ = size.ws_col;
}

std::string Terminal::paint(std::string_view text, Ink ink) const {
  if (!color_ || ink == Ink::plain) return std::string(text);
  const char* code = ink == Ink::good    ? "32"
                     : ink == Ink::bad   ? "31"
                     : ink == Ink::doubt ? "33"
                     : ink == Ink::faint ? "2"
                                         : "1";
  return std::string("\033[") + code + "m" + std::string(text) + "\033[0m";
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
      break;
  }
  return Ink::faint;
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i < text.size() && text[i] != 'm') ++i;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++n;
    }
  }
  return n;
}

std::string pad(std::string_view text, std::size_t width, bool right) {
  const std::size_t have = columns(text);
  const std::string blanks(have < width ? width - have : 0, ' ');
  return right ? blanks + std::string(text) : std::string(text) + blanks;
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    const std::size_t size = columns(word);
    if (used > 0 && used + 1 + size > width) {
      result += '\n' + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      result += ' ';
      ++used;
    }
    result += word;
    used += size;
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return result;
}

}  // namespace headrace::cli
