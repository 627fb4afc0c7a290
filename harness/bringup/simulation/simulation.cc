#include "harness/bringup/simulation/simulation.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>
#include <utility>

#include "harness/base/parallel.h"
#include "harness/base/quantiles.h"
#include "harness/bringup/simulation/made_fleet.h"

namespace headrace::bringup {
namespace {

/// The processor time of this thread: other fleets are searched at the same time.
double processor_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void count(const MadeFleet& truth, const Search& search, SimulatedFleet& fleet) {
  std::vector<bool> named(truth.plan.nodes, false), named_switch(truth.bad_switch.size(), false);
  std::set<std::pair<unsigned, unsigned>> found;
  const auto well = [&](unsigned node) {
    return search.node(node) == PartState::cleared || search.node(node) == PartState::slower;
  };
  for (const Finding& one : search.findings()) {
    if (one.scope == Finding::Scope::switch_fabric) {
      named_switch[one.a] = true;
      ++(truth.bad_switch[one.a] ? fleet.found_switches : fleet.false_switches);
    } else if (one.scope == Finding::Scope::link) {
      found.emplace(one.a, one.b);
      ++(truth.bad_link(one.a, one.b) ? fleet.found_links : fleet.false_links);
    } else {
      named[one.a] = true;
    }
  }
  for (unsigned node = 0; node < truth.plan.nodes; ++node) {
    fleet.bad_nodes += truth.bad_node[node];
    fleet.false_nodes += named[node] && !truth.bad_node[node];
    fleet.missed_nodes += truth.bad_node[node] && well(node);
    fleet.undecided_nodes += search.node(node) == PartState::undecided;
  }
  fleet.bad_switches += static_cast<unsigned>(std::count(truth.bad_switch.begin(), truth.bad_switch.end(), true));
  for (const Posterior::Link& link : search.posterior().links()) {
    if (link.rail != 0 || !truth.bad_link(link.a, link.b)) continue;
    ++fleet.bad_links_met;
    fleet.missed_links += well(link.a) && well(link.b) && !found.contains({link.a, link.b});
  }
}

}  // namespace

SimulatedFleet simulate(const FleetPlan& plan, std::uint64_t seed) {
  Random random(seed);
  const MadeFleet truth = made_fleet(plan, random);
  SearchOptions options = plan.search;
  options.seed = random.next();
  Search search(truth.topology, options);
  SimulatedFleet fleet;
  double since_s = processor_s();
  const auto decided = [&] { fleet.slowest_decision_s = std::max(fleet.slowest_decision_s, processor_s() - since_s); };
  for (Round round = search.next(); !round.empty(); round = search.next()) {
    decided();
    std::vector<PairRate> measured;
    for (const auto& [a, b] : round)
      for (unsigned rail = 0; rail < plan.rails; ++rail) measured.push_back({a, b, rail, truth.rate(a, b, random)});
    fleet.pairs += static_cast<unsigned>(round.size());
    since_s = processor_s();
    search.add(measured);
  }
  decided();
  fleet.rounds = search.rounds();
  count(truth, search, fleet);
  return fleet;
}

std::vector<SimulatedFleet> simulate_fleets(const FleetPlan& plan, unsigned fleets, std::uint64_t seed) {
  constexpr std::uint64_t kMostFleets = 1'000'000;  // of one seed: the next seed's are all others
  std::vector<SimulatedFleet> all(fleets);
  const std::uint64_t first = 1 + (seed - 1) * kMostFleets;
  parallel_for(fleets, std::thread::hardware_concurrency(),
               [&](unsigned, std::uint64_t i) { all[i] = simulate(plan, Random(first + i).next()); });
  return all;
}

double at_least(unsigned count, unsigned all, double probability) {
  double less = 0;
  for (unsigned k = 0; k < count; ++k) less += statistics::binomial_term(all, k, probability);
  return std::max(0.0, 1 - less);
}

SimulationSummary summary_of(const std::vector<SimulatedFleet>& fleets, const SearchOptions& options) {
  SimulationSummary sum;
  for (const SimulatedFleet& one : fleets) {
    sum.mean_rounds += one.rounds / static_cast<double>(fleets.size());
    sum.mean_pairs += one.pairs / static_cast<double>(fleets.size());
    sum.most_rounds = std::max(sum.most_rounds, one.rounds);
    sum.slowest_decision_s = std::max(sum.slowest_decision_s, one.slowest_decision_s);
    sum.bad_nodes += one.bad_nodes;
    sum.false_nodes += one.false_nodes;
    sum.missed_nodes += one.missed_nodes;
    sum.undecided_nodes += one.undecided_nodes;
    sum.bad_switches += one.bad_switches;
    sum.false_switches += one.false_switches;
    sum.found_switches += one.found_switches;
    sum.bad_links_met += one.bad_links_met;
    sum.false_links += one.false_links;
    sum.missed_links += one.missed_links;
    sum.found_links += one.found_links;
    sum.fleets_with_false += one.false_nodes + one.false_switches + one.false_links > 0;
  }
  constexpr double kByChance = 0.05;
  const auto too_many = [](unsigned count, std::size_t all, double allowed) {
    return count > 0 && at_least(count, static_cast<unsigned>(all), allowed) < kByChance;
  };
  if (too_many(sum.fleets_with_false, fleets.size(), options.alpha) ||
      too_many(sum.missed_nodes, sum.bad_nodes, options.beta))
    sum.word = Outcome::fail;
  else if (sum.undecided_nodes > 0)
    sum.word = Outcome::inconclusive;
  return sum;
}

}  // namespace headrace::bringup
