#include "benches/headrace/session/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "harness/base/system/spawn.h"
#include "harness/record/recorder.h"

namespace headrace::session {
namespace {

constexpr unsigned kOthersLinger_s = 20;  // another rank that was killed waits this long for the first to write
constexpr unsigned kOutlive_s = 120;      // the first may write for this long after its caller is gone
constexpr int kLook_ms = 200;             // how often the launcher is looked for
constexpr std::array kHandedOn{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

volatile sig_atomic_t child = 0;
int handover = -1;  // in the child: where leave() writes the exit code

void hand_on(int number) {
  const int code = errno;
  ::kill(static_cast<pid_t>(child), number);
  // The child ends at once when it is asked again, if the kernel lets it; this process does.
  const bool stops = number == SIGINT || number == SIGTERM;
  if (stops && count_request() == Request::again) ::_exit(128 + number);
  errno = code;
}

/// Until `set` is undone, signals wait: none may come between the fork and the handlers.
sigset_t blocked() {
  sigset_t set, before;
  sigemptyset(&set);
  for (const int number : kHandedOn) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, &before);
  return before;
}

/// Ends this process some time after its caller did.
void outlive(pid_t parent) {
  while (::getppid() == parent) ::usleep(100'000);
  ::sleep(kOutlive_s);
  std::_Exit(1);
}

/// The child's way into its work; its caller is gone if `parent` is.
int begin_work(const std::function<int()>& work, int writing, pid_t parent, const sigset_t& signals, Role role) {
  if (role == Role::first) {
    ::setpgid(0, 0);  // launchers kill the group
    std::thread(outlive, parent).detach();
  } else {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a SIGKILL of the caller is meant for this process, too
  }
  if (::getppid() != parent) ::_exit(1);
  handover = writing;
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  return work();
}

/// Waits until the child handed over its exit code or ended. If the launcher is gone, the child is asked to stop, as by
/// SIGTERM, and still writes its results.
bool handed_over(int reading, unsigned char& code, Role role) {
  const pid_t launcher = ::getppid();
  bool reported = role == Role::only;
  pollfd ready{.fd = reading, .events = POLLIN, .revents = 0};
  while (!reported) {
    const int some = ::poll(&ready, 1, kLook_ms);
    if (some > 0 || (some < 0 && errno != EINTR)) break;
    if (::getppid() == launcher) continue;
    hand_on(SIGTERM);
    reported = true;
  }
  ssize_t got;
  do {
    got = ::read(reading, &code, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

int exit_code_of(pid_t pid, Role role) {
  const int status = system::wait_for_end(pid);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  if (role == Role::other) {
    for (const int number : kHandedOn) ::signal(number, SIG_DFL);
    ::sleep(kOthersLinger_s);
  }
  ::prctl(PR_SET_DUMPABLE, 0);  // the child left the core that there is to leave
  ::signal(WTERMSIG(status), SIG_DFL);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, nullptr);
  ::raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

}  // namespace

int supervised(const std::function<int()>& work, Role role) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return work();
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  const sigset_t signals = blocked();
  const pid_t pid = ::fork();
  if (pid < 0) {
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    return work();
  }
  if (pid == 0) {
    ::close(ends[0]);
    return begin_work(work, ends[1], parent, signals, role);
  }
  ::close(ends[1]);
  child = pid;
  for (const int number : kHandedOn) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // nohup: neither the child heeds it
    struct sigaction action {};
    action.sa_handler = hand_on;
    sigaction(number, &action, nullptr);
  }
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  unsigned char code = 0;
  if (handed_over(ends[0], code, role)) ::_exit(code);  // it left; the kernel may hold it for as long as it likes
  return exit_code_of(pid, role);
}

Request count_request() noexcept {
  constexpr std::uint64_t kOneRequest_ns = 300'000'000;
  static std::atomic<std::uint64_t> first_ns{0};
  std::uint64_t first = 0;
  const std::uint64_t now = now_ns();
  if (first_ns.compare_exchange_strong(first, now)) return Request::first;
  return now - first > kOneRequest_ns ? Request::again : Request::same;
}

void leave(int code) {
  // Threads that hang keep the process and its descriptors: a reader of these would wait on.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(stream);
  const auto byte = static_cast<unsigned char>(code);
  if (handover >= 0 && ::write(handover, &byte, 1) != 1) std::_Exit(code);
  std::_Exit(code);
}

}  // namespace headrace::session
