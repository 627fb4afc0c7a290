#include "harness/base/system/kernel_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "harness/base/error.h"
#include "harness/base/system/list_names.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::system {
namespace {

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> read_text(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  while (true) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got == 0) return text;
    if (got > 0) {
      text.append(part, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      return std::nullopt;  // the speed of a virtual NIC, for one: there, but cannot be read
    }
  }
}

std::optional<std::string> read_line(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::nullopt;
  const std::string line(trim(std::string_view(*text).substr(0, text->find('\n'))));
  if (line.empty()) return std::nullopt;
  return line;
}

std::optional<std::uint64_t> read_number(const std::string& path) {
  const auto line = read_line(path);
  return line ? to_number(*line) : std::nullopt;
}

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  const int code = list_names(AT_FDCWD, folder.c_str(), names);
  // Limits of this process would make parts of the machine seem absent.
  if (code == EMFILE || code == ENFILE || code == ENOMEM) throw system_error("list", folder, code);
  return code == 0 ? names : std::vector<std::string>{};
}

std::optional<std::uint64_t> number_at(const std::vector<std::string>& words, std::size_t at) {
  if (at >= words.size()) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = words[at].data() + words[at].size();
  const auto [rest, error] = std::from_chars(words[at].data(), end, value);
  return error == std::errc() && rest == end ? std::optional(value) : std::nullopt;
}

std::optional<std::string> field(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const std::string_view value = trim(line);
    if (line.empty() || (value == line && value[0] != ':')) continue;  // a longer key
    return std::string(trim(value.starts_with(':') ? value.substr(1) : value));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_field(std::string_view text, std::string_view key) {
  const auto value = field(text, key);
  return value ? to_number(*value) : std::nullopt;
}

std::string chosen_of(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(text);
  return std::string(text.substr(open + 1, close - open - 1));
}

std::string_view trim(std::string_view text) {
  const auto blank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

}  // namespace headrace::system
