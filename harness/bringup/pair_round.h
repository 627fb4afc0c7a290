// One round: pairs that meet at the same time, over one rail after the other.
#pragma once

#include <functional>

#include "harness/bringup/asking.h"
#include "harness/bringup/blame/search.h"
#include "harness/bringup/record.h"

namespace headrace::bringup {

/// Is this pair to be measured over that rail?
using Measured = std::function<bool(unsigned a, unsigned b, unsigned rail)>;
/// Which of both calls the other one; by RDMA: which one leads.
using Caller = std::function<unsigned(unsigned a, unsigned b, unsigned rail)>;

/// The rates of the pairs over all rails that both have, and the failed connections, each way. Takes as long as
/// round_s() where nothing goes wrong.
RoundRecord measure_round(const Record& record, const Round& round, const Measured& measured, const Caller& caller,
                          Asking& ask);

/// How long a round takes where nothing goes wrong [s].
double round_s(const Record& record);

}  // namespace headrace::bringup
