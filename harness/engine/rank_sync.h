// Several processes as one engine: rank 0 decides, all do the same step, and what each gave becomes
// one result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/ranks/ranks.h"
#include "harness/record/repetition.h"
#include "harness/workload/registry.h"

namespace headrace::engine {

/// What rank 0 asks all ranks to do next.
struct Step {
  enum class Kind : std::uint8_t { open, repeat, verify, close, end } kind = Kind::end;
  std::uint64_t point = 0;       // open
  unsigned index = 0, look = 0;  // repeat
};

/// How one rank's share of something ended, for all to know: the worst decides.
struct Word {
  enum class Kind : std::uint8_t { ok, skipped, interrupted, failed, hung } kind = Kind::ok;
  std::string why;
};

class RankSync {
 public:
  explicit RankSync(Ranks& ranks) : ranks_(ranks) {}

  bool alone() const { return ranks_.size() == 1; }
  bool leads() const { return ranks_.rank() == 0; }
  Ranks& ranks() const { return ranks_; }

  /// Rank 0: to all. All of these throw RanksError when somebody is lost.
  void say(const Step& step) const;
  /// The others: what rank 0 says next, however long that takes while it lives.
  Step hear() const;
  /// Everyone's word; the worst of them, the same for all, with the rank's name where it is
  /// another's. Alone: the own.
  Word agree(const std::string& what, const Word& own) const;
  /// Waits until `stage` is over: ranks of another stage do nothing meanwhile.
  void wait(const std::string& what) const;
  /// Of all ranks, at rank 0; elsewhere what was given. `team`: those that took part.
  /// `slowest`: as Workload::slowest().
  Repetition merged(Repetition own, const std::vector<unsigned>& team, AcrossRanks across,
                    const std::vector<MetricInfo>& catalogue, std::optional<unsigned> slowest = {}) const;

 private:
  /// Why what all did is to be doubted, or "". Of many ranks some are always disturbed: that
  /// matters where it is the slowest one, which the others' time hangs on, or more than a third.
  std::string disturbed_together(const std::vector<unsigned>& team, const std::vector<Repetition>& all,
                                 const std::vector<PhaseResult>& merged) const;
  Ranks& ranks_;
};

/// Who takes part: all ranks, or the first of each node; of those the first `clients` (0 = all), on
/// as many nodes as can be. Ascending; rank 0 is always among them. Empty: there are not that many.
std::vector<unsigned> team_of(const Ranks& ranks, bool one_per_node, unsigned clients);

}  // namespace headrace::engine
