// Which rank was slower than the others, where several ranks measured.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/run_result.h"

namespace headrace {
class Ranks;
}

namespace headrace::engine {

/// Ranks far slower than the others, by the values that `RankSync::merged` kept of each.
std::vector<unsigned> stragglers(const Repetition& repetition);

/// From the repetitions that count: sets the result's slowest rank, its pairs (the median of each) and the accused
/// ends. Returns remarks for the reader: stragglers, and the blame in words where too few met for a judgement.
std::vector<std::string> describe_ranks(PointResult& result, const Ranks& ranks);

}  // namespace headrace::engine
