// A command as the shell would run it: its streams and signals are its own, its end is ours.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace headrace::observe {

/// Reported as the shell does, with its exit code: 127 not found, 126 found and cannot be run.
struct CannotStart {
  int exit_code = 126;
  std::string why;
};

/// Names and values.
using Environment = std::vector<std::pair<std::string, std::string>>;

class Command {
 public:
  /// Throws CannotStart. `environment`: added to, or in place of, ours. Processes whose parents end become our
  /// children, so that they are not lost. Signals of other processes (INT, TERM, HUP, QUIT, USR1, USR2) are handed on.
  /// Those of the terminal reach the command directly, as it is in the same group.
  explicit Command(const std::vector<std::string>& words, const Environment& environment = {});
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  int pid() const { return pid_; }
  /// Whether it has ended; other ended children are reaped, too.
  bool ended();
  /// 128 + its number, where a signal ended it.
  int exit_code() const { return exit_code_; }
  /// Processes that it left behind, and that are our children now.
  std::vector<int> left_behind() const;

 private:
  int pid_ = 0;
  bool ended_ = false;
  int exit_code_ = 0;
};

/// SIGINT and SIGTERM end watching a foreign process, not that process.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  /// The signal that came; 0: none.
  int came() const;
};

}  // namespace headrace::observe
