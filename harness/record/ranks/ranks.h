// Processes that run one plan together: their numbers and places, and messages between them. Every exchange has a
// deadline, and one that fails names the missing rank. For set-up and results: never part of a timed region.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/error.h"

namespace headrace {

/// Where one of the processes runs.
struct RankPlace {
  std::string host;         // its host name
  unsigned node = 0;        // ranks of one host share this number; 0, 1 ... in the order of their first ranks
  unsigned local_rank = 0;  // among those of its node, from 0
};

/// Thrown when others did not answer: "connect queue pairs: no word within 10 s from rank 3
/// (node4)".
class RanksError : public RunError {
 public:
  using RunError::RunError;
};

/// The processes of a run. All of its members make every call below in the same order, each from one thread at a time.
/// Strings are bytes. `what` is the purpose, for messages. All throw RanksError when `timeout_s` is over, or at once
/// when a member ended. Calls after that fail the same way as soon as they need that member.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual unsigned rank() const = 0;
  /// One per rank.
  virtual const std::vector<RankPlace>& places() const = 0;
  /// The messages of every member of `group` (rank numbers, ascending), in the group's order. With a `root` among the
  /// group only that rank gets it, and the others nothing. The caller is a member. Groups that do not overlap do not
  /// wait for each other.
  virtual std::vector<std::string> gather(std::string_view what, const std::vector<unsigned>& group,
                                          std::string_view own, double timeout_s, int root = -1) = 0;
  /// The rank that ended or fell silent: "rank 3 (node4) ended without a word"; "" = none. Callable at any time, from
  /// any thread, while others are in an exchange or in a timed region.
  virtual std::string lost() const { return ""; }

  unsigned size() const { return static_cast<unsigned>(places().size()); }
  const std::string& host(unsigned rank) const { return places().at(rank).host; }
  /// "rank 3 (node4)": the number is the one in the whole run.
  virtual std::string who(unsigned rank) const { return "rank " + std::to_string(rank) + " (" + host(rank) + ")"; }
  unsigned nodes() const {
    unsigned count = 0;
    for (const RankPlace& p : places()) count = p.node + 1 > count ? p.node + 1 : count;
    return count;
  }

  std::vector<unsigned> everyone() const {
    std::vector<unsigned> all(size());
    for (unsigned r = 0; r < size(); ++r) all[r] = r;
    return all;
  }
  std::vector<std::string> all_gather(std::string_view what, std::string_view own, double timeout_s) {
    return gather(what, everyone(), own, timeout_s);
  }
  /// The message of `root`; the others' `own` is ignored.
  std::string broadcast(std::string_view what, unsigned root, std::string_view own, double timeout_s) {
    return gather(what, everyone(), rank() == root ? own : std::string_view(), timeout_s).at(root);
  }
  void barrier(std::string_view what, double timeout_s) { gather(what, everyone(), "", timeout_s, 0); }
  /// The message of `peer`, which calls this with this rank: connection data of a pair.
  std::string exchange(std::string_view what, unsigned peer, std::string_view own, double timeout_s) {
    const bool first = rank() < peer;
    const std::vector<unsigned> pair =
        first ? std::vector<unsigned>{rank(), peer} : std::vector<unsigned>{peer, rank()};
    return gather(what, pair, own, timeout_s).at(first ? 1 : 0);
  }
};

/// One process alone: where no MPI launched this one.
std::unique_ptr<Ranks> make_solo_ranks();

}  // namespace headrace
