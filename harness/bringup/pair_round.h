// One round: pairs that meet at the same time, over one rail after the other.
#pragma once

#include <set>

#include "harness/bringup/asking.h"
#include "harness/bringup/record.h"
#include "harness/bringup/search.h"

namespace headrace::bringup {

/// What the pairs reached over all rails but those in `dead`, and who could not be measured. Takes as long as round_s() tells, where
/// nothing goes wrong.
RoundRecord measure_round(const Record& record, const Round& round, const std::set<unsigned>& dead, Asking& ask);

/// How long a round takes where nothing goes wrong [s].
double round_s(const Record& record);

}  // namespace headrace::bringup
