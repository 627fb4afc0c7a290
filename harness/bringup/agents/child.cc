#include "harness/bringup/agents/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <string_view>
#include <vector>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/system/spawn.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::agents {

namespace {

constexpr std::size_t kFrame = 74;  // dashes of a line that Open MPI draws

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

bool says_something(const std::string& line) {
  return std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

/// The reason in a line "headrace: why" or "headrace run: why", also behind a launcher's mark ("[1,0]<stderr>:", "0:
/// "); else "".
std::string own_words(std::string_view line) {
  constexpr std::string_view kName = "headrace", kLetters = "abcdefghijklmnopqrstuvwxyz-";
  const std::size_t at = line.find(kName);
  if (at == line.npos) return "";
  std::string_view mark = line.substr(0, at);
  mark.remove_suffix(mark.size() - (mark.find_last_not_of(" \t") + 1));
  const bool is_mark = mark.find(' ') == mark.npos && mark.find_first_of("0123456789") != mark.npos;  // not "bash:"
  if (!mark.empty() && !(is_mark && std::string_view(":>]").find(mark.back()) != mark.npos)) return "";
  std::string_view rest = line.substr(at + kName.size());
  if (rest.starts_with(' ')) rest.remove_prefix(std::min(1 + rest.substr(1).find_first_not_of(kLetters), rest.size()));
  return rest.starts_with(": ") ? std::string(rest.substr(2)) : "";
}

bool is_frame(const std::string& line) { return line.size() == kFrame && line.find_first_not_of('-') == line.npos; }

/// "" = there is none.
std::string first_framed(const std::vector<std::string>& lines) {
  std::string paragraph;
  for (auto line = std::find_if(lines.begin(), lines.end(), is_frame); line != lines.end(); ++line) {
    const std::size_t begin = line->find_first_not_of(" \t");
    if (says_something(*line))
      paragraph += (paragraph.empty() ? "" : " ") + line->substr(begin);
    else if (!paragraph.empty())
      break;
  }
  return paragraph;
}

}  // namespace

std::string complaint_in(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  for (const std::string& line : lines)
    if (std::string own = own_words(line); !own.empty()) return own;
  if (std::string framed = first_framed(lines); !framed.empty()) return framed;
  const auto last = std::find_if(lines.rbegin(), lines.rend(), says_something);
  return last == lines.rend() ? "" : *last;
}

namespace {

constexpr std::size_t kMostWords = 64 << 10;
constexpr int kLook_ms = 100;
constexpr double kEnd_s = 10;  // for a clean end, before it is killed

}  // namespace

Ended run_child(const std::vector<std::string>& command, int input, double most_s) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("start", command.front(), errno);
  const system::UniqueFd from(ends[0]);
  system::UniqueFd to(ends[1]);
  ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  const pid_t pid = system::spawn_tied(command, to.get());
  to = system::UniqueFd();

  Ended ended;
  std::string reported;
  const auto listen = [&] {
    char block[4096];
    for (ssize_t got; (got = ::read(from.get(), block, sizeof block)) > 0;) {
      reported.append(block, static_cast<std::size_t>(got));
      if (reported.size() > kMostWords) reported.erase(0, reported.size() - kMostWords);
    }
  };
  int status = 0, asked_to_end = 0;
  const Deadline end(most_s);
  Deadline patience(0);
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    // POLLHUP is always reported of a pipe whose other end is closed, POLLRDHUP only on request of a socket.
    pollfd waits[] = {{input, POLLRDHUP, 0}, {from.get(), POLLIN, 0}};
    ::poll(waits, 2, kLook_ms);
    if (waits[1].revents & POLLHUP) ::poll(nullptr, 0, kLook_ms / 10);  // it ends, or runs without standard error
    listen();
    const bool nobody_waits = (waits[0].revents & (POLLHUP | POLLRDHUP | POLLERR | POLLNVAL)) != 0;
    ended.late = ended.late || end.over();
    if (!nobody_waits && !ended.late) continue;
    if (asked_to_end == 0) patience = Deadline(kEnd_s);
    if (asked_to_end == 0 || patience.over()) ::kill(pid, asked_to_end == 0 ? SIGTERM : SIGKILL);
    ++asked_to_end;
    if (nobody_waits) ::poll(nullptr, 0, kLook_ms);
  }
  listen();
  ended.code = system::exit_code_of(status);
  ended.words = complaint_in(reported);
  return ended;
}

}  // namespace headrace::agents
