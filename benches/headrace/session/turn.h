// One run in a process of its own, watched line by line: a turn of interleaved blocks.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::session {

/// Takes SIGINT and SIGTERM for as long as it lives: the first is handed on to the running turn and
/// kept; a later one ends turn and program.
class TurnSignals {
 public:
  TurnSignals();
  ~TurnSignals();
  TurnSignals(const TurnSignals&) = delete;
  TurnSignals& operator=(const TurnSignals&) = delete;
  /// The first signal that came, or 0.
  int first() const;
};

/// Starts `command`, its standard output thrown away, and calls for each line of its standard
/// error. Its exit code; 128 + the signal that killed it. It ends when this process does. Throws
/// RunError when it cannot be started.
int run_turn(const std::vector<std::string>& command, const std::function<void(std::string_view line)>& on_line);

}  // namespace headrace::session
