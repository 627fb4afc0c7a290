// Which ranks meet in which turn, and which end sends: a schedule of pairs for the present ranks.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.h"
#include "harness/base/random.h"
#include "harness/record/pair_matrix.h"
#include "harness/record/ranks/ranks.h"
#include "workloads/network/rdma_traffic.h"

namespace headrace::network {

/// By which port a rank goes: its place among its node's ports, and its name.
struct Rail {
  unsigned number = 0;
  std::string name;   // "mlx5_0/1"
  unsigned slot = 0;  // of several that the rank drives
};

class PairSchedule {
 public:
  static constexpr std::array<const char*, 4> kNames{"all_pairs", "ring", "bisection", "rails"};

  struct Meeting {
    unsigned from, to;  // ranks; of both directions at once, either
  };
  using Turn = std::vector<Meeting>;

  PairSchedule() = default;
  /// `rails`: one per rank. `most_rounds`: of those that the schedule has that many at most, drawn at random by `seed`; 0: all.
  /// Throws RunError: `rails` wants one rank at each port of each node.
  PairSchedule(const std::string& name, const Ranks& ranks, const std::vector<Rail>& rails,
               RdmaTraffic::Direction direction, std::uint64_t most_rounds = 0, std::uint64_t seed = 1) {
    PairRounds rounds = name == "rails" ? by_rails(ranks, rails) : by_ranks(name, ranks, rails);
    rounds_of_all_ = rounds.size();
    if (most_rounds != 0 && rounds.size() > most_rounds) {
      Random random(seed);
      for (std::size_t i = 0; i < most_rounds; ++i) std::swap(rounds[i], rounds[i + random.below(rounds.size() - i)]);
      rounds.resize(most_rounds);
    }
    for (const auto& round : rounds) {
      Turn there, back;
      for (const auto& [a, b] : round) {
        // In a tournament either of a pair may send: no rank is idle for long.
        const bool swapped = direction == RdmaTraffic::Direction::one_way && (name == "all_pairs" || name == "rails") &&
                             (a + b) % 2 == 0;
        const unsigned from = rank_of_end_[swapped ? b : a], to = rank_of_end_[swapped ? a : b];
        there.push_back({from, to});
        back.push_back({to, from});
      }
      turns_.push_back(std::move(there));
      if (direction == RdmaTraffic::Direction::each_way) turns_.push_back(std::move(back));
    }
  }

  const std::vector<Turn>& turns() const { return turns_; }
  /// The meeting of `rank` in turn `turn`; nullptr: it rests.
  const Meeting* meeting(std::size_t turn, unsigned rank) const {
    for (const Meeting& m : turns_.at(turn))
      if (m.from == rank || m.to == rank) return &m;
    return nullptr;
  }
  /// All partners of `rank`, ascending.
  std::vector<unsigned> partners(unsigned rank) const {
    std::vector<unsigned> all;
    for (const Turn& turn : turns_)
      for (const Meeting& m : turn)
        if (m.from == rank || m.to == rank) all.push_back(m.from == rank ? m.to : m.from);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// The number of rounds of the full schedule.
  std::size_t rounds_of_all() const { return rounds_of_all_; }

  /// Nothing measured yet.
  PairMatrix matrix() const { return rails_.empty() ? PairMatrix(names_) : PairMatrix(names_, rails_); }
  /// The row and column of `rank`.
  std::size_t end_of(unsigned rank) const {
    return static_cast<std::size_t>(std::find(rank_of_end_.begin(), rank_of_end_.end(), rank) - rank_of_end_.begin());
  }

 private:
  PairRounds by_ranks(const std::string& name, const Ranks& ranks, const std::vector<Rail>& rails) {
    rank_of_end_ = ranks.everyone();
    for (unsigned r = 0; r < ranks.size(); ++r) names_.push_back(name_of(r, ranks, rails));
    return name == "ring"        ? ring_rounds(ranks.size())
           : name == "bisection" ? bisection_rounds(ranks.size())
                                 : all_pairs_rounds(ranks.size());
  }

  /// The host; where it has several ranks also the port, if that distinguishes them, else the rank.
  static std::string name_of(unsigned rank, const Ranks& ranks, const std::vector<Rail>& rails) {
    bool alone = true, by_port = true;
    for (unsigned r = 0; r < ranks.size(); ++r) {
      if (r == rank || ranks.places()[r].node != ranks.places()[rank].node) continue;
      alone = false;
      by_port = by_port && rails[r].name != rails[rank].name;
    }
    const std::string& host = ranks.host(rank);
    return alone ? host : by_port ? host + " " + rails[rank].name : host + "#" + std::to_string(rank);
  }

  PairRounds by_rails(const Ranks& ranks, const std::vector<Rail>& rails) {
    const unsigned nodes = ranks.nodes();
    if (nodes < 2) throw RunError("schedule: rails: all ranks are on " + ranks.host(0) + ": rails join several nodes");
    std::map<unsigned, std::vector<int>> by_number;  // each rail's rank on each node
    for (unsigned r = 0; r < ranks.size(); ++r) {
      auto& of_rail = by_number.try_emplace(rails[r].number, nodes, -1).first->second;
      int& mine = of_rail[ranks.places()[r].node];
      if (mine >= 0)
        throw RunError("schedule: rails: " + ranks.who(static_cast<unsigned>(mine)) + " and " + ranks.who(r) +
                       " go by the same port, " + rails[r].name + ": start one process for each port of a node");
      mine = static_cast<int>(r);
    }
    std::vector<std::string> hosts(nodes), names;
    for (const RankPlace& place : ranks.places()) hosts[place.node] = place.host;
    for (const auto& [number, of_rail] : by_number) {
      std::string name;
      for (unsigned node = 0; node < nodes; ++node) {
        if (of_rail[node] < 0)
          throw RunError("schedule: rails: no rank on " + hosts[node] + " goes by port " + std::to_string(number) +
                         " of its node, but others do: start one process for each port on every node");
        const auto rank = static_cast<unsigned>(of_rail[node]);
        name = node == 0 || name == rails[rank].name ? rails[rank].name : "port " + std::to_string(number);
        rank_of_end_.push_back(rank);
      }
      names.push_back(name);
    }
    names_ = hosts;
    rails_ = names;
    return rails_rounds(nodes, static_cast<unsigned>(names.size()), true);
  }

  std::vector<Turn> turns_;
  std::vector<unsigned> rank_of_end_;       // in the matrix's order
  std::vector<std::string> names_, rails_;  // of the matrix
  std::size_t rounds_of_all_ = 0;
};

}  // namespace headrace::network
