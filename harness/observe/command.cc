#include "harness/observe/command.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <string_view>

#include "harness/base/error.h"
#include "harness/base/escape.h"
#include "harness/base/system/kernel_files.h"
#include "harness/base/system/spawn.h"

extern char** environ;

namespace headrace::observe {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<int> hand_to = 0;  // process that signals are handed to; 0: kept in `came`
std::atomic<int> kept = 0;
std::array<struct sigaction, kSignals.size()> before;
struct sigaction child_before;

void on_signal(int number, siginfo_t* info, void*) {
  const int pid = hand_to.load();
  if (pid == 0) {
    kept = number;
    return;
  }
  // From the terminal it went to the whole group.
  if (info == nullptr || info->si_code <= 0) {
    const int code = errno;
    ::kill(pid, number);
    errno = code;
  }
}

void on_child(int) {}  // ends a sleep

void install() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);  // nohup
  }
  struct sigaction child {};
  child.sa_handler = on_child;
  ::sigaction(SIGCHLD, &child, &child_before);
}

void restore() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before[i], nullptr);
  ::sigaction(SIGCHLD, &child_before, nullptr);
}

/// A shell runs a text without a first line of #!, and the kernel does not.
std::string why_not_started(const std::vector<std::string>& words, int code) {
  const std::string& program = words.front();
  if (code == ENOEXEC && program.find('/') != program.npos) {
    std::string beginning(4096, '\0');
    std::ifstream file(program, std::ios::binary);
    file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(file.gcount()));
    if (file.is_open() && beginning.find('\0') == beginning.npos && !beginning.starts_with("#!")) {
      std::string command = "headrace observe -- sh";
      for (const std::string& word : words) command += ' ' + shell_word(word);
      return fmt::format("{}: has no #! line: {}", program, command);
    }
  }
  return fmt::format("{}: {}", program, errno_text(code));
}

}  // namespace

Command::Command(const std::vector<std::string>& words, const Environment& environment) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  std::vector<std::string> settings;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view setting(*one);
    if (std::none_of(environment.begin(), environment.end(),
                     [&](const auto& replaced) { return setting.starts_with(replaced.first + "="); }))
      settings.emplace_back(setting);
  }
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);

  install();
  // headrace ignores SIGXFSZ, and the command need not.
  const int code = system::spawn({.words = words, .environment = std::move(settings), .heeded = {SIGXFSZ}}, pid_);
  if (code != 0) {
    restore();
    throw CannotStart{.exit_code = code == ENOENT ? 127 : 126, .why = why_not_started(words, code)};
  }
  hand_to = pid_;
  if (const int early = kept.exchange(0); early != 0) ::kill(pid_, early);
}

Command::~Command() {
  hand_to = 0;
  restore();
}

bool Command::ended() {
  int status = 0;
  for (int pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == pid_) {
      ended_ = true;
      exit_code_ = system::exit_code_of(status);
    }
  return ended_;
}

std::vector<int> Command::left_behind() const {
  std::vector<int> found;
  const auto text = system::read_text(fmt::format("/proc/self/task/{}/children", ::getpid())).value_or("");
  for (const std::string& word : system::split(text, ' '))
    if (const int pid = std::atoi(word.c_str()); pid > 0) found.push_back(pid);
  return found;
}

StopSignals::StopSignals() {
  kept = 0;
  hand_to = 0;
  install();
}
StopSignals::~StopSignals() { restore(); }
int StopSignals::came() const { return kept.load(); }

}  // namespace headrace::observe
