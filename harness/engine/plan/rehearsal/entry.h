// Entries of a configuration, as the plan of a rehearsal combines them, and the remarks about them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/base/units.h"

namespace headrace::rehearsal {

using config::Value;

struct PlanNotes {
  std::vector<std::string> unproven;  // of the points that follow: the parts smaller than the job's; a sentence each
  std::vector<std::string> remarks;   // the parts left out, and why
};

/// An entry that uses this workload, with those of `keys` that `from` has.
Value entry_of(const char* use, const Value& from, std::span<const char* const> keys);
Value with(Value entry, const char* key, std::string text);
/// [SI]; 0 where it is not there.
double number(const Value& entry, const char* key, Dimension dimension);
/// Samples that a loader takes at once: the rows of a row group.
double rows_of_group(const Value& entry);

}  // namespace headrace::rehearsal
