// Some of the ranks as ranks of their own: those that take part in a point.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/record/ranks/ranks.h"

namespace headrace::ranks {

/// Members count from 0 in the order given; who() reports their numbers in the whole run.
class Team final : public Ranks {
 public:
  /// `members`: ranks of `all`, ascending, this one among them. `all` outlives the team.
  Team(Ranks& all, std::vector<unsigned> members);

  unsigned rank() const override { return rank_; }
  const std::vector<RankPlace>& places() const override { return places_; }
  std::vector<std::string> gather(std::string_view what, const std::vector<unsigned>& group, std::string_view own,
                                  double timeout_s, int root) override;
  std::string lost() const override { return all_.lost(); }
  std::string who(unsigned rank) const override { return all_.who(members_.at(rank)); }

 private:
  Ranks& all_;
  const std::vector<unsigned> members_;
  std::vector<RankPlace> places_;
  unsigned rank_ = 0;
};

}  // namespace headrace::ranks

// Steps that several ranks make together: all of them succeed, or all of them fail for the same reason.
namespace headrace {
/// Each rank does `step`, which returns its message; returns the messages of all. Where a step throws, its rank sends
/// the reason instead, and all ranks throw. That one throws its own error, the others the same with its name,
/// Unsupported for an Unsupported. So no rank waits for one that failed, and the next exchange finds all at the same
/// place. Throws RanksError as Ranks::gather() does, but where the own step failed; `timeout_s` counts from the first
/// rank's end.
std::vector<std::string> in_concert(Ranks& ranks, std::string_view what, double timeout_s,
                                    const std::function<std::string()>& step);

}  // namespace headrace
