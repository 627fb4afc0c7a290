// A pair far above the usual rate, though no part is bad. Where half of the nodes are slow, theirs is the usual rate.
#pragma once

#include <optional>
#include <string>

#include "harness/bringup/record.h"

namespace headrace::bringup {

struct FastPair {
  unsigned a = 0, b = 0, rail = 0;
  double times = 0;  // the usual rate
};

/// The fastest pair that is well above the usual rate and the noise, by the median of its rates. Pairs within one switch
/// may be faster than others. Such a pair counts only if its nodes are slower with others of that switch. Nothing where few
/// nodes are fast, or where fast ones also meet slowly: some share a machine or a switch.
std::optional<FastPair> fast_pair(const Record& record);

/// "node1 to node2 is 3.1 times the usual rate of 11.8 MB/s: that may be the rate of slow nodes"; "" = there is none.
std::string doubt_of(const Record& record);

}  // namespace headrace::bringup
