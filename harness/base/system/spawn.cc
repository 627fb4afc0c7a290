#include "harness/base/system/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "harness/base/error.h"

extern char** environ;

namespace headrace::system {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

[[noreturn]] void become(char* const* words, int errors, pid_t parent) {
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) ::signal(number, SIG_DFL);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execvp(words[0], words);
  ::_exit(127);
}

}  // namespace

int spawn(const Program& program, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [stream, own] : {std::pair{program.in, STDIN_FILENO}, std::pair{program.out, STDOUT_FILENO},
                                    std::pair{program.errors, STDERR_FILENO}}) {
    if (stream == kNoStream) ::posix_spawn_file_actions_addopen(&actions, own, "/dev/null", O_RDWR, 0);
    if (stream >= 0) ::posix_spawn_file_actions_adddup2(&actions, stream, own);
  }
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t heeded;
  ::sigemptyset(&heeded);
  for (const int number : program.heeded) ::sigaddset(&heeded, number);
  ::posix_spawnattr_setsigdefault(&attributes, &heeded);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF | (program.own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  std::vector<char*> settings;
  if (program.environment) settings = pointers(*program.environment);
  const int code = ::posix_spawnp(&pid, program.words.front().c_str(), &actions, &attributes,
                                  pointers(program.words).data(), program.environment ? settings.data() : environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return code;
}

pid_t spawn_tied(const std::vector<std::string>& words, int errors) {
  const std::vector<char*> pointed = pointers(words);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid == 0) become(pointed.data(), errors, parent);
  if (pid < 0) throw system_error("start", words.front(), errno);
  return pid;
}

int wait_for_end(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace headrace::system
