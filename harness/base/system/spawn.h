// Starting a program, and waiting for its end.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::system {

/// Instead of a descriptor: the stream that this process has, and /dev/null.
inline constexpr int kSameStream = -1, kNoStream = -2;

struct Program {
  std::vector<std::string> words;                         // a path, or a name that is looked for in PATH; arguments
  std::optional<std::vector<std::string>> environment{};  // "NAME=value"; nothing: that of this process
  int in = kSameStream, out = kSameStream, errors = kSameStream;  // descriptors, or one of the two above
  std::vector<int> heeded{};  // signals that it handles as usual, even if this process does not
  bool own_group = false;     // Ctrl-C does not reach it, and all that it starts can be ended together
};

/// Returns 0 and sets `pid`, or returns an error number: ENOENT if there is no such program.
int spawn(const Program& program, pid_t& pid);

/// Starts a program that ends with this process: without standard input and output. SIGINT, SIGTERM and SIGPIPE are
/// heeded as usual. Throws RunError. If there is no such program, its exit code is 127.
pid_t spawn_tied(const std::vector<std::string>& words, int errors);

/// Waits for the end of a child, regardless of signals. Returns its status as of waitpid(); -1: it is no child of this
/// process.
int wait_for_end(pid_t pid);

/// The exit code of a status as in shells: 128 + the signal that ended it.
int exit_code_of(int status);

}  // namespace headrace::system
