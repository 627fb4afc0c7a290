// What a matrix of pairs says of nodes, NICs, links and rails, as judgements: each part that seems slow is compared with
// what its like reached in the same repetitions, by the same bounds as a need.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/judge/verdict/part_faults.h"
#include "harness/judge/verdict/record.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/record/pair_matrix.h"

namespace headrace::judging {

/// The id of these judgements; their scope is the part: "node node3", "NIC node3 eth1", "link node2 to node4".
inline constexpr std::string_view kPairRate = "network.pair_rate";

/// What pairs say of other nodes and of what lies between them is no word of the node that wrote the run.
inline bool of_pairs(const Judgement& j) { return j.id == kPairRate; }
/// The scope names a part, and what follows from it is no need of the job's.
inline bool of_a_part(const Judgement& j) { return of_pairs(j) || j.id == kPartFault; }

/// One bad node of three is no exception, nor one bad pair of three: of fewer nobody can decide what is usual.
inline constexpr unsigned kFewestNodes = 4;
bool shows_usual_values(const PairMatrix& matrix, unsigned nodes);

/// A judgement of each part that a matrix's medians find slow, the worst word of the points that report on it: FAIL where every bound says that it is slow, else
/// INCONCLUSIVE, which accuses nobody. None where nothing stands out. A link of an accused node is reported by the node.
std::vector<Judgement> judge_parts(std::span<const RecordedPoint> points);

}  // namespace headrace::judging
