// The one other process that `headrace run --peer HOST` measures with: `headrace run --serve` on that host. Two ranks of a
// kind: the first has the plan and leads, the second makes the other end of each workload as it is asked.
#pragma once

#include <string>
#include <string_view>

#include "harness/record/ranks/ranks.h"

namespace headrace {

class Peer : public Ranks {
 public:
  bool leads() const { return rank() == 0; }
  unsigned other() const { return 1 - rank(); }
  /// The leader: what the follower is to do next; it does so while this end does the same. What it says to an earlier
  /// step than the last that was `fresh` is not heard any more. Throws RanksError when it is gone.
  virtual void step(std::string_view text, bool fresh = false) = 0;
  /// Of this machine, by which the other reached it, or was reached: "10.0.0.1".
  virtual const std::string& local_address() const = 0;
};

}  // namespace headrace
