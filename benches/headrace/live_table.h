// --live FILE: a CSV table that grows while a run measures, for programs that follow it from outside.
#pragma once

#include <memory>
#include <string>

#include "harness/engine/engine.h"

namespace headrace::cli {

/// Before anything runs; "" = there is none. Throws UsageError where `file` cannot be such a table, or would lie in
/// data that the plan reads.
void check_live_table(const std::string& file, const Plan& plan);

/// `shown`, and with a `file` also a line per second of measuring and per repetition. Of several processes, lines of a
/// second have the rates of this one, lines of a repetition those of all.
std::unique_ptr<RunObserver> with_live_table(std::unique_ptr<RunObserver> shown, const std::string& file);

}  // namespace headrace::cli
