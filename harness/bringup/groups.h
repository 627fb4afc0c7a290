// Lets accepted nodes measure together, by Open MPI. Collectives run in groups, so that a dead host costs one group;
// the storage load runs on all at once.
#pragma once

#include "harness/bringup/asking.h"
#include "harness/bringup/bring_up.h"

namespace headrace::bringup {

/// Adds their rates to the record's last session; skipped parts are reported in record.skipped.
void measure_groups(Record& record, Asking& ask, Audience& audience);
/// `job_file`: the record's job.
void measure_load(Record& record, const std::string& job_file, Asking& ask, Audience& audience);

}  // namespace headrace::bringup
