// The one other process that `headrace run --peer HOST` measures with: `headrace run --serve` on that host. Two ranks
// of a kind. The first has the plan and leads; the second makes the other end of each workload on request.
#pragma once

#include <string>
#include <string_view>

#include "harness/record/ranks/ranks.h"

namespace headrace {

class Peer : public Ranks {
 public:
  bool leads() const { return rank() == 0; }
  unsigned other() const { return 1 - rank(); }
  /// The leader: the follower's next step, which this end does at the same time. Answers to a step before the last
  /// `fresh` one are dropped. Throws RanksError when it is gone.
  virtual void step(std::string_view text, bool fresh = false) = 0;
  /// The address of this machine that the connection uses: "10.0.0.1".
  virtual const std::string& local_address() const = 0;
};

}  // namespace headrace
