// A verb of the command line: one file each, self-registering, adding its own subcommand and
// options.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "benches/headrace/verb_options.h"
#include "harness/results/exit_map.h"

namespace headrace::cli {

/// Options that mean the same for every verb, parsed before the verb.
struct Shared {
  std::string color = "auto";     // auto | always | never; NO_COLOR, FORCE_COLOR and TERM=dumb are honoured
  std::string progress = "auto";  // auto | plain | json | none
  int verbosity = 0;              // -q = -1, -v = 1
  results::ExitMap exit_map = results::ExitMap::headrace;  // applied in main() alone
  std::atomic<results::Remark>* remark = nullptr;          // set by a verb, or by its child
  std::vector<std::string> command;                        // the command line as given, for run files
};

/// Called once at start; adds the verb to `app`. The verb's callback stores the action: run() is called after parsing
/// and its result is the exit code. UsageError thrown from it is printed and becomes exit code 2, any other exception
/// 1.
using AddVerb = void (*)(Verbs& verbs, Shared& shared);

/// `const RegisterVerb registered_verb.h{40, add_require};` - the number orders the verbs in --help.
struct RegisterVerb {
  RegisterVerb(int order, AddVerb add);
};

}  // namespace headrace::cli
