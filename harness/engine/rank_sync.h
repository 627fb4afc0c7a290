// Several processes as one engine: rank 0 decides, all do the same step, and their results become one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/record/ranks/ranks.h"
#include "harness/record/repetition.h"
#include "harness/workload/registry.h"

namespace headrace::engine {

/// The next step, from rank 0 to all ranks.
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

  /// Rank 0: to all. All of these throw RanksError when a rank is lost.
  void say(const Step& step) const;
  /// The others: rank 0's next message, however long that takes while it lives.
  Step hear() const;
  /// Everyone's word; the worst of them, the same for all, with the rank's name where it is
  /// another's. Alone: the own.
  Word agree(const std::string& what, const Word& own) const;
  /// Waits until `stage` is over: ranks of another stage are idle until then.
  void wait(const std::string& what) const;
  /// The repetition of all ranks, at rank 0; elsewhere `own`. `team`: the ranks that took part. `slowest`: as
  /// Workload::slowest().
  Repetition merged(Repetition own, const std::vector<unsigned>& team, AcrossRanks across,
                    const std::vector<MetricInfo>& catalogue, std::optional<unsigned> slowest = {}) const;

 private:
  /// Why the repetition is doubtful, or "". With many ranks some are always disturbed. That matters for the slowest
  /// one, which determines the others' time, or for more than a third.
  std::string disturbed_together(const std::vector<unsigned>& team, const std::vector<Repetition>& all,
                                 const std::vector<PhaseResult>& merged) const;
  Ranks& ranks_;
};

/// The participants: all ranks, or the first of each node. Of those the first `clients` (0 = all), on as many nodes as
/// can be. Ascending; rank 0 is always among them. Empty: there are not that many.
std::vector<unsigned> team_of(const Ranks& ranks, bool one_per_node, unsigned clients);

}  // namespace headrace::engine
