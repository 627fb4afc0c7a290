// What sound hardware gives: before anything runs, doctor --expect; a finished run beside it, verdict --expect.
#pragma once

#include "benches/headrace/verb.h"

namespace headrace::cli {

/// --expectations FILE
void add_expectations_option(Verb& verb, std::string& file);

/// Of the parts of this machine, with data at `path`. `table_file` comes before headrace's own table; "" = none does.
int expected_of_machine(const std::string& path, const std::string& table_file, bool json, const Shared& shared);
/// Of what the run measured, with an exit code.
int expected_of_run(const std::string& file, const std::string& table_file, bool json, const Shared& shared);

}  // namespace headrace::cli
