// Lets nodes that passed measure together, by Open MPI: collectives in groups, so that a dead host costs a group, and the
// job's storage load from all of them at once.
#pragma once

#include "harness/bringup/asking.h"
#include "harness/bringup/bring_up.h"

namespace headrace::bringup {

/// Adds what they reached to the record's last session; what was left out is reported in record.skipped.
void measure_groups(Record& record, Asking& ask, Audience& audience);
/// `job_file`: the record's job.
void measure_load(Record& record, const std::string& job_file, Asking& ask, Audience& audience);

}  // namespace headrace::bringup
