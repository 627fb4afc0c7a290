#include "harness/bringup/simulation/simulated_record.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/base/version.h"
#include "harness/bringup/blame/judge.h"
#include "harness/bringup/blame/topology.h"
#include "harness/bringup/bring_up.h"
#include "harness/bringup/pair_round.h"
#include "harness/bringup/simulation/made_fleet.h"

namespace headrace::bringup {
namespace {

constexpr double kRate = 12e9;  // [B/s], of a port of 100 Gbit/s
constexpr double kLatency_s = 20e-6;

std::vector<NodeRecord> nodes_of(const MadeFleet& made) {
  std::vector<NodeRecord> nodes(made.plan.nodes);
  for (unsigned i = 0; i < made.plan.nodes; ++i) {
    Host& host = nodes[i].host;
    host.name = fmt::format("node{:05}", i + 1);
    if (const unsigned leaf = made.topology.leaf(i); leaf != kNoSwitch)
      host.leaf_switch = fmt::format("s{:03}", leaf + 1);
    if (made.plan.rails > 1)
      for (unsigned rail = 0; rail < made.plan.rails; ++rail) host.rails.push_back(fmt::format("eth{}", rail));
  }
  return nodes;
}

PairMeasured pair_of(const MadeFleet& made, unsigned a, unsigned b, unsigned rail, Random& random) {
  const double slower = kRate * made.rate(a, b, random);
  PairMeasured one{a, b, rail, {slower, slower * (1 + made.plan.noise * std::abs(normal(random)))}, {}};
  if (uniform(random) < 0.5) std::swap(one.rate[0], one.rate[1]);
  one.latency_s = kLatency_s * (1 + made.plan.noise * std::abs(normal(random)));
  one.latency_median_s = 1.1 * one.latency_s;
  one.latency_p99_s = 1.5 * one.latency_s;
  return one;
}

}  // namespace

Record simulated_record(const FleetPlan& plan, std::uint64_t seed, const std::function<void(const Record&)>& measured) {
  Random random(seed);
  const MadeFleet made = made_fleet(plan, random);
  Record record;
  record.headrace = kVersion;
  record.simulated = fmt::format(
      "{} nodes, {:.3g} % bad and losing {:.3g} %, {} bad switch{}, {:.3g} % of the links bad, noise {:.3g} %, seed {}",
      plan.nodes, 100 * plan.bad, 100 * plan.loss, plan.bad_switches, plan.bad_switches == 1 ? "" : "es",
      100 * plan.bad_links, 100 * plan.noise, seed);
  record.measuring.search = plan.search;
  record.measuring.search.seed = random.next() >> 12;  // every reader of JSON takes it
  record.nodes = nodes_of(made);
  Evidence evidence(topologies_of(record), record.measuring.search);
  record.sessions.push_back({"1970-01-01T00:00:00Z", {}, {}});  // no time: the same seed writes the same
  SessionRecord& session = record.sessions.back();
  const std::vector<bool> all(plan.nodes, true);
  const auto judged = [&](bool finished) {
    record.running = !finished;
    judge(record, {evidence, {}, all, finished});
    measured(record);
  };
  for (Round round = evidence.next(); !round.empty(); round = evidence.next()) {
    RoundRecord done{round_s(record), {}, {}};
    for (const auto& [a, b] : round)
      for (unsigned rail = 0; rail < plan.rails; ++rail) done.pairs.push_back(pair_of(made, a, b, rail, random));
    evidence.add(done.pairs);
    session.elapsed_s += done.took_s;
    session.rounds.push_back(std::move(done));
    judged(false);
  }
  judged(true);
  return record;
}

}  // namespace headrace::bringup
