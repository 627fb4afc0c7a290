// Figures of sound hardware: alone (doctor --expect), or next to a finished run (verdict --expect).
#pragma once

#include "benches/headrace/verb.h"
#include "harness/judge/expectations/table.h"

namespace headrace::cli {

/// --expectations FILE
void add_expectations_option(Verb& verb, std::string& file);

/// headrace's own table behind that of `file` ("" = none), whose figures must be those of workloads. Throws UsageError.
expectations::Table expectations_table(const std::string& file);

/// Expected figures for the parts of this machine, with data at `path`. `table_file` comes before headrace's own table;
/// "" = none does.
int expected_of_machine(const std::string& path, const std::string& table_file, bool json, const Shared& shared);
/// Expected figures for those of the run, with an exit code.
int expected_of_run(const std::string& file, const std::string& table_file, bool json, const Shared& shared);

}  // namespace headrace::cli
