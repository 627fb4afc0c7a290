// headrace run --against: the configuration and another configuration, headrace or place, in interleaved blocks; or,
// --against-itself, the same one twice.
#pragma once

#include "benches/headrace/compare_options.h"
#include "benches/headrace/plan_options.h"

namespace headrace::cli {

struct AgainstArguments {
  std::string with;     // configuration, binary or folder; "" = nothing to compare with
  bool itself = false;  // in its place
  unsigned blocks = 6;
  CompareOptions compare;
  std::string out;
  std::vector<std::string> passed_on;  // further options of every turn
  bool json = false, dry_run = false, no_report = false;
};

/// Adds --against, --against-itself, --blocks and the options of comparisons.
void add_against_options(Verb& verb, AgainstArguments& arguments);

/// Measures both sides and compares them. Returns the exit code of the comparison.
int measure_against(const PlanArguments& plan, const AgainstArguments& arguments, const Shared& shared);
/// The system against itself: the noise floor and the false alarms of each metric, which later comparisons find.
int measure_against_itself(const PlanArguments& plan, const AgainstArguments& arguments, const Shared& shared);

/// The command line of one turn: `binary` runs `plan`, without its --out. A turn takes one repetition unless --looks is
/// given: blocks repeat instead.
std::vector<std::string> turn_command(const std::string& binary, const PlanArguments& plan);

}  // namespace headrace::cli
