// Lets nodes measure by themselves, all at the same time.
#pragma once

#include "harness/bringup/asking.h"
#include "harness/bringup/bring_up.h"

namespace headrace::bringup {

/// Adds these nodes' measurements to the record's last session. Once more where one is suspected, as one session names
/// no node. Skipped parts are reported in record.skipped.
void test_nodes(Record& record, const std::vector<unsigned>& nodes, Asking& ask, Audience& audience);

/// Those that have measured nothing since they were repaired.
std::vector<unsigned> untested(const Record& record, const std::vector<unsigned>& part);

/// Removes the data of these sessions' nodes on the job's storage.
void remove_data(const Record& record, Asking& ask);

}  // namespace headrace::bringup
