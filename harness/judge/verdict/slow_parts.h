// Judgements on nodes, NICs, links and rails from a matrix of pairs. Each slow part is compared with its like in the
// same repetitions, by the same bounds as a need.
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

/// Findings on other nodes and the links between them are no verdict on the node that wrote the run.
inline bool of_pairs(const Judgement& j) { return j.id == kPairRate; }
/// The scope names a part; the judgement is no need of the job.
inline bool of_a_part(const Judgement& j) { return of_pairs(j) || j.id == kPartFault; }

/// One bad node of three is no exception, nor one bad pair of three: fewer cannot show the usual rate.
inline constexpr unsigned kFewestNodes = 4;
bool shows_usual_values(const PairMatrix& matrix, unsigned nodes);

/// A judgement of each part with slow medians in a matrix, the worst of its points' words. FAIL where every bound is
/// slow, else INCONCLUSIVE, which accuses no part. None where nothing is exceptional. A link of an accused node is
/// reported by the node.
std::vector<Judgement> judge_parts(std::span<const RecordedPoint> points);

}  // namespace headrace::judging
