// Two sides measured in interleaved blocks, each turn in a process and a folder of its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/comparison/blocks.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::session {

// One run in a process of its own, watched line by line: a turn of interleaved blocks.

/// Takes SIGINT and SIGTERM for as long as it lives. The first is handed on to the running turn and kept. A later one
/// ends turn and program.
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

/// Gets the progress of blocks; implemented by the command line.
class TurnObserver {
 public:
  virtual ~TurnObserver() = default;
  virtual void started(const comparison::Blocks& blocks, const comparison::Turn& turn) = 0;
  /// A line of JSON that the turn reports its progress by, as `--progress json` has it.
  virtual void progress(std::string_view line) = 0;
  virtual void done(const comparison::Blocks& blocks, const comparison::Turn& turn) = 0;
  virtual void message(const std::string& text) = 0;
  /// The messages of a turn that left no run, in lines.
  virtual void complaint(const std::string& lines) = 0;
};

/// The result.
struct Interleaved {
  std::optional<comparison::Comparison> comparison;  // none when no block was finished
  comparison::Blocks blocks;
  int signal = 0;  // that ended it early
};

/// Measures blocks.planned blocks into `folder`, continuing after those that blocks.turns has already; blocks.json is
/// written after every turn. With `stop_early` it ends after the first look when every gate is decided. `options` are
/// those of the comparison. Throws RunError when a turn leaves no run, UsageError when its command line is refused.
Interleaved interleave(comparison::Blocks blocks, const MarkedFolder& folder, const comparison::Options& options,
                       bool stop_early, TurnObserver& observer);

/// The folder for new blocks, or the one to resume: --out, else headrace-runs/TIME-NAME-SUFFIX. Fills in blocks.turns
/// of a folder that holds finished ones. It is locked for this process. Throws UsageError when it holds blocks of other
/// sides.
MarkedFolder blocks_folder(const std::string& out, const std::string& suffix, comparison::Blocks& blocks);

}  // namespace headrace::session
