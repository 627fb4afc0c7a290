#include "harness/machine/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "harness/base/system/kernel_files.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::system {
namespace {

constexpr std::string_view kXid = "Xid (PCI:";  // of "SXid (PCI:", too

/// "NVRM: Xid (PCI:0000:17:00): 79, pid=..."; "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 ..."
std::optional<LoggedError> error_in(std::string_view line) {
  const std::size_t at = line.find(kXid);
  if (at == line.npos) return std::nullopt;
  const std::string_view rest = line.substr(at + kXid.size());
  const std::size_t close = rest.find("): ");
  if (close == rest.npos) return std::nullopt;
  LoggedError error;
  error.address = rest.substr(0, close);
  if (error.address.find('.') == std::string::npos) error.address += ".0";
  error.of_switch = at > 0 && line[at - 1] == 'S';
  const std::string_view words = rest.substr(close + 3);
  error.number = static_cast<unsigned>(std::strtoul(std::string(words.substr(0, 10)).c_str(), nullptr, 10));
  error.fatal = words.find(", Fatal") != words.npos;
  const std::vector<std::string> head = split(line.substr(0, line.find(';')), ',');
  error.last_s = static_cast<double>(number_at(head, 2).value_or(0)) * 1e-6;
  return error.number == 0 ? std::nullopt : std::optional(error);
}

}  // namespace

std::string LoggedError::name() const { return (of_switch ? "SXid " : "Xid ") + std::to_string(number); }

std::optional<std::string> kernel_log(const std::string& root, std::span<const std::string_view> words) {
  const UniqueFd log(::open((root + "/dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log) return std::nullopt;
  constexpr std::size_t kMost = 256 << 10;
  std::string text;
  // A read of /dev/kmsg gives one record; of a laid file it gives many lines.
  std::string left;
  char record[8192];
  while (true) {
    const ssize_t got = ::read(log.get(), record, sizeof record);
    if (got < 0 && errno == EPIPE) continue;  // overwritten in the meantime
    if (got <= 0) break;
    left.append(record, static_cast<std::size_t>(got));
    for (std::size_t end; (end = left.find('\n')) != left.npos; left.erase(0, end + 1)) {
      const std::string_view line = std::string_view(left).substr(0, end);
      if (line.starts_with(' ')) continue;  // more of the record before
      if (std::any_of(words.begin(), words.end(), [&](std::string_view word) { return line.find(word) != line.npos; }))
        text.append(line).append("\n");
    }
    if (text.size() > 2 * kMost) text.erase(0, text.size() - kMost);
  }
  return text;
}

std::vector<LoggedError> logged_errors(std::string_view log) {
  std::vector<LoggedError> all;
  for (const std::string& line : split(log, '\n')) {
    const auto error = error_in(line);
    if (!error) continue;
    const auto known = std::find_if(all.begin(), all.end(), [&](const LoggedError& one) {
      return one.address == error->address && one.number == error->number && one.of_switch == error->of_switch;
    });
    if (known == all.end()) {
      all.push_back(*error);
    } else {
      ++known->times;
      known->last_s = error->last_s;
      known->fatal = known->fatal || error->fatal;
    }
  }
  return all;
}

std::optional<std::vector<LoggedError>> logged_errors_here(const std::string& root) {
  static constexpr std::array<std::string_view, 1> kWords{kXid};
  const auto log = kernel_log(root, kWords);
  return log ? std::optional(logged_errors(*log)) : std::nullopt;
}

}  // namespace headrace::system
