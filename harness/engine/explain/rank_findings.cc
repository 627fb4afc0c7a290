#include "harness/engine/explain/rank_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/judge/statistics/summary.h"
#include "harness/judge/verdict/slow_parts.h"
#include "harness/record/pair_matrix.h"
#include "harness/record/ranks/ranks.h"

namespace headrace::engine {
namespace {

constexpr double kStraggler = 0.8;  // of the median rank's rate

/// How often each rank was the slowest, or a straggler.
using Times = std::map<unsigned, unsigned>;

SlowestRank slowest_of(const Times& slowest, const Ranks& ranks) {
  const auto most = std::ranges::max_element(slowest, {}, [](const auto& each) { return each.second; });
  unsigned phases = 0;
  for (const auto& [rank, times] : slowest) phases += times;
  return {most->first, ranks.host(most->first), most->second, phases};
}

}  // namespace

std::vector<unsigned> stragglers(const Repetition& repetition) {
  if (repetition.pairs)
    return {};  // an end's clock covers as many directions as it waits for: pairs are blamed by their rates
  std::map<unsigned, std::pair<double, double>> work;  // bytes (or operations), seconds
  for (const PhaseResult& p : repetition.phases) {
    for (const RankPhase& r : p.ranks) {
      if (r.bytes == 0 && r.operations == 0) continue;  // in none of the groups
      work[r.rank].first += static_cast<double>(r.bytes > 0 ? r.bytes : r.operations);
      work[r.rank].second += r.elapsed_s;
    }
  }
  std::vector<double> rates;
  for (const auto& [rank, w] : work) rates.push_back(w.second > 0 ? w.first / w.second : 0);
  if (rates.size() < 3) return {};
  const double median = statistics::median(rates);
  std::vector<unsigned> slow;
  for (const auto& [rank, w] : work)
    if (w.second > 0 && w.first / w.second < kStraggler * median) slow.push_back(rank);
  return slow;
}

std::vector<std::string> describe_ranks(PointResult& result, const Ranks& ranks) {
  Times slow, slowest;
  unsigned counted = 0;
  std::vector<const PairMatrix*> matrices;
  for (const Repetition& r : result.repetitions) {
    if (!r.counted) continue;
    ++counted;
    for (const PhaseResult& p : r.phases)
      if (p.slowest_rank >= 0 && !r.pairs) ++slowest[static_cast<unsigned>(p.slowest_rank)];
    for (const unsigned rank : stragglers(r)) ++slow[rank];
    if (r.pairs) matrices.push_back(&*r.pairs);
  }
  std::vector<std::string> notes;
  for (const auto& [rank, times] : slow) {
    if (2 * times > counted)
      notes.push_back(fmt::format("straggler: {}: below {:.0f} % of the median rank in {} of {} repetitions",
                                  ranks.who(rank), 100 * kStraggler, times, counted));
  }
  if (!slowest.empty()) result.slowest = slowest_of(slowest, ranks);
  if (matrices.empty()) return notes;
  result.pairs = median_matrix(matrices);
  result.blame = blame(*result.pairs);
  if (judging::shows_usual_values(*result.pairs, result.nodes)) return notes;  // they are judged
  for (const PairFinding& one : pair_findings(result.blame, *result.pairs))
    if (one.below > 0)  // cut-off ranks are judged whatever is usual
      notes.push_back(fmt::format("{}: {}: {}; with fewer than {} nodes, or as many pairs, there is no baseline",
                                  one.kind, one.subject, one.reported, judging::kFewestNodes));
  return notes;
}

}  // namespace headrace::engine
