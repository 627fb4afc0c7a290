// One rank's side of the hub.
#pragma once

#include <memory>
#include <vector>

#include "harness/record/ranks/ranks.h"
#include "harness/workload/ranks/hub.h"

namespace headrace::ranks {

/// Connects to the hub and answers its pings on a thread of its own. A hub that does not ping for `silence_s` is lost.
/// Throws RanksError when it cannot be reached within `timeout_s`: which address, and the error.
std::unique_ptr<Ranks> join(const HubAddress& hub, unsigned rank, std::vector<RankPlace> places, double silence_s,
                            double timeout_s);

/// Numbers nodes in the order of their first ranks, and the ranks of each: from one host name per
/// rank.
std::vector<RankPlace> places_of(const std::vector<std::string>& hosts);

}  // namespace headrace::ranks
