// A made-up fleet with known faults, measured and searched by the product's own code: how often it is right.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/bringup/blame/search.h"
#include "harness/judge/verdict/word.h"

namespace headrace::bringup {

/// Shares, but for the counts.
struct FleetPlan {
  unsigned nodes = 1000, nodes_per_switch = 32, rails = 1;
  double bad = 0.02, loss = 0.06;                  // of nodes, and how much of their rate they lose on all rails
  unsigned bad_switches = 0;                       // their ways out lose `loss`
  double bad_links = 0;                            // of ways between two nodes
  double noise = 0.02;                             // of one rate, normally distributed
  double transient = 0.02, transient_loss = 0.15;  // rates that are low for once
  double heavy = 0;                                // rates whose noise is four times as much
  SearchOptions search;
};

struct SimulatedFleet {
  unsigned rounds = 0, pairs = 0;
  unsigned bad_nodes = 0, false_nodes = 0, missed_nodes = 0, undecided_nodes = 0;  // missed: called healthy
  unsigned bad_switches = 0, false_switches = 0, found_switches = 0;
  unsigned bad_links_met = 0, false_links = 0, found_links = 0, missed_links = 0;
  double slowest_decision_s = 0;  // processor time of a round: judged, and the next one chosen
};

/// The same seed gives the same fleet, faults, rates and decisions.
SimulatedFleet simulate(const FleetPlan& plan, std::uint64_t seed);

/// Each with a seed of its own, on all processors; in order.
std::vector<SimulatedFleet> simulate_fleets(const FleetPlan& plan, unsigned fleets, std::uint64_t seed);

/// Sums over fleets, unless noted as means.
struct SimulationSummary {
  double mean_rounds = 0, mean_pairs = 0, slowest_decision_s = 0;
  unsigned most_rounds = 0;
  unsigned bad_nodes = 0, false_nodes = 0, missed_nodes = 0, undecided_nodes = 0;
  unsigned bad_switches = 0, false_switches = 0, found_switches = 0;
  unsigned bad_links_met = 0, false_links = 0, found_links = 0, missed_links = 0;
  unsigned fleets_with_false = 0;
  /// FAIL: more accused healthy parts than alpha, or more missed bad nodes than beta, make likely (5 % by chance).
  /// INCONCLUSIVE: nodes that stayed undecided.
  Outcome word = Outcome::pass;
};
SimulationSummary summary_of(const std::vector<SimulatedFleet>& fleets, const SearchOptions& options);

/// How likely `count` or more of `all` are, each by `probability`.
double at_least(unsigned count, unsigned all, double probability);

}  // namespace headrace::bringup
