#include "benches/headrace/session/turn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "benches/headrace/session/supervisor.h"
#include "harness/base/error.h"

namespace headrace::session {
namespace {

volatile sig_atomic_t running = 0;  // the turn's process
volatile sig_atomic_t caught = 0;

void on_signal_waiting(int number) {
  const int code = errno;
  // Handed on, for it may have been sent to this process alone; the turn takes both for one.
  if (running > 0) ::kill(static_cast<pid_t>(running), number);
  switch (count_request()) {
    case Request::first:
      caught = number;
      break;
    case Request::same:
      break;
    case Request::again:
      ::_exit(128 + number);
  }
  errno = code;
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

[[noreturn]] void become(const std::vector<std::string>& command, int errors, pid_t parent) {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

/// Lines as they come; the last one may lack its end.
void read_lines(int from, const std::function<void(std::string_view)>& on_line) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(from, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      on_line(std::string_view(text).substr(begin, end - begin));
    text.erase(0, begin);
  }
  if (!text.empty()) on_line(text);
}

}  // namespace

TurnSignals::TurnSignals() {
  handle(SIGINT, on_signal_waiting);
  handle(SIGTERM, on_signal_waiting);
}

TurnSignals::~TurnSignals() {
  handle(SIGINT, SIG_DFL);
  handle(SIGTERM, SIG_DFL);
}

int TurnSignals::first() const { return caught; }

int run_turn(const std::vector<std::string>& command, const std::function<void(std::string_view line)>& on_line) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("start", command.front(), errno);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) become(command, ends[1], parent);
  const int code = errno;
  ::close(ends[1]);
  if (pid < 0) {
    ::close(ends[0]);
    throw system_error("start", command.front(), code);
  }
  running = pid;
  if (caught != 0) ::kill(pid, caught);  // it came while the process was made
  read_lines(ends[0], on_line);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
  if (WEXITSTATUS(status) == 127) throw RunError("cannot start " + command.front());
  return WEXITSTATUS(status);
}

}  // namespace headrace::session
