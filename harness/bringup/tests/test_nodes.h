// Lets nodes measure by themselves, all at the same time.
#pragma once

#include "harness/bringup/asking.h"
#include "harness/bringup/bring_up.h"

namespace headrace::bringup {

/// Adds what these nodes measured to the record's last session; once more where one is suspected, for nobody is named by
/// one session. What was left out is reported in record.skipped.
void test_nodes(Record& record, const std::vector<unsigned>& nodes, Asking& ask, Audience& audience);

/// Those that have measured nothing since they were repaired.
std::vector<unsigned> untested(const Record& record, const std::vector<unsigned>& part);

/// Removes what these sessions' nodes made on the job's storage.
void remove_data(const Record& record, Asking& ask);

}  // namespace headrace::bringup
