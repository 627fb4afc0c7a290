// One run from its plan to its files, in the process or processes that measure.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/files/marked_folder.h"
#include "harness/engine/engine.h"
#include "harness/judge/expectations/table.h"

namespace headrace::session {

/// The folder of the files, and the other processes.
struct Wanted {
  std::string out;                                         // run folder; "" = the next one below headrace-runs/
  bool store = true;                                       // false: there is no run folder
  std::string peer, token;                                 // `headrace run --serve` elsewhere; "" = none
  std::vector<std::string> command;                        // as given, for the run file
  expectations::Table table = expectations::load_table();  // of sound hardware's figures
};

/// Shows a run to people; a verb. Called in the measuring process, of several in the first; except lost().
class Audience {
 public:
  virtual ~Audience() = default;
  virtual std::unique_ptr<RunObserver> watch(const Plan& plan) = 0;
  /// All was measured, and `files` are written into `folder`; nullptr: nothing is stored. Returns the
  /// exit code.
  virtual int finished(const RunResult& run, const MarkedFolder* folder, std::vector<std::string> files) = 0;
  virtual void failed(const std::exception& error) = 0;
  /// In another process than the first: it lost the others.
  virtual void lost(const std::string& who, const std::string& why) = 0;
  /// Empties the standard streams before the process ends by _Exit: `code`, or another one where that failed.
  virtual int delivered(int code) = 0;
};

/// A command line for files that others may read: without the token.
std::vector<std::string> without_token(std::vector<std::string> command);

/// Measures the plan of `make_plan` and writes its run folder. Of several processes that a launcher started together,
/// each calls it, and rank 0 decides. Returns the exit code. Throws UsageError when the plan, --out or --peer is
/// impossible, RunError when its folder cannot be made. Files that cannot be written are reported after the result.
/// The first SIGINT or SIGTERM ends it cleanly, a later one at once. Called before any thread is started.
int measure(const std::function<Plan()>& make_plan, const Wanted& wanted, Audience& audience);

}  // namespace headrace::session
