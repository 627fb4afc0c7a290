#include "harness/bringup/agents/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/system/unique_fd.h"
#include "harness/bringup/agents/complaint.h"

namespace headrace::agents {
namespace {

constexpr std::size_t kMostWords = 64 << 10;
constexpr int kLook_ms = 100;
constexpr double kEnd_s = 10;  // for a clean end, before it is killed

[[noreturn]] void become(char* const* words, int errors, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execvp(words[0], words);
  ::_exit(127);
}

}  // namespace

Ended run_child(const std::vector<std::string>& command, int input, double most_s) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("start", command.front(), errno);
  const system::UniqueFd from(ends[0]);
  system::UniqueFd to(ends[1]);
  ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) become(words.data(), to.get(), parent);
  if (pid < 0) throw system_error("start", command.front(), errno);
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
    // Of a pipe whose other end is closed POLLHUP is reported whatever is asked for, of a socket POLLRDHUP.
    pollfd waits[] = {{input, POLLRDHUP, 0}, {from.get(), POLLIN, 0}};
    ::poll(waits, 2, kLook_ms);
    if (waits[1].revents & POLLHUP) ::poll(nullptr, 0, kLook_ms / 10);  // it ends, or does without its standard error
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
  ended.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  ended.words = complaint_in(reported);
  return ended;
}

}  // namespace headrace::agents
