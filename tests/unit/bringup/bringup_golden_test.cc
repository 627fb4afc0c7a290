// Simulated fleets keep their outcome: the same pairs meet in the same rounds, and the same parts are accused by the same
// evidence. A change of the search that is meant is written by HEADRACE_WRITE_GOLDEN=1, and read before it is kept.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "harness/bringup/as_runs.h"
#include "harness/bringup/blame/topology.h"
#include "harness/bringup/hand_over.h"
#include "harness/bringup/simulation/simulated_record.h"
#include "tests/unit/source_dir.h"

namespace headrace::bringup::bringup_golden_test {
namespace {

FleetPlan fleet(unsigned nodes, double bad, double loss) {
  FleetPlan plan;
  plan.nodes = nodes;
  plan.nodes_per_switch = 4;
  plan.bad = bad;
  plan.loss = loss;
  return plan;
}

struct Named {
  std::string name;
  FleetPlan plan;
};

std::vector<Named> fleets() {
  std::vector<Named> all{{"sound", fleet(12, 0, 0.1)},
                         {"two bad nodes", fleet(12, 0.17, 0.08)},
                         {"bad switch", fleet(16, 0, 0.2)},
                         {"two rails", fleet(10, 0.1, 0.15)},
                         {"slow links, every pair", fleet(8, 0, 0.3)},
                         {"noisy and often low for once", fleet(12, 0.1, 0.2)},
                         {"few rounds", fleet(20, 0.1, 0.05)},
                         {"no switch known", fleet(9, 0.12, 0.12)},
                         {"many slow links between two rails", fleet(7, 0.1, 0.12)},
                         {"two bad switches of noisy nodes", fleet(24, 0.05, 0.15)},
                         {"large switches, one of them bad", fleet(44, 0.1, 0.07)},
                         {"slow for once by much", fleet(14, 0.07, 0.9)}};
  all[2].plan.bad_switches = 1;
  all[3].plan.rails = 2;
  all[4].plan.bad_links = 0.08;
  all[4].plan.search.every_link = true;
  all[5].plan.noise = 0.04;
  all[5].plan.transient = 0.15;
  all[5].plan.heavy = 0.1;
  all[6].plan.search.most_rounds = 4;
  all[7].plan.nodes_per_switch = 0;
  all[8].plan.bad_links = 0.15;
  all[8].plan.rails = 2;
  all[8].plan.search.every_link = true;
  all[9].plan.bad_switches = 2;
  all[9].plan.noise = 0.04;
  all[10].plan.nodes_per_switch = 16;
  all[10].plan.bad_switches = 1;
  all[11].plan.transient = 0.1;
  all[11].plan.transient_loss = 0.95;
  return all;
}

void print_beliefs(std::ostringstream& out, Record record) {
  const Topology topology = topologies_of(record).front();
  Posterior posterior(topology, record.measuring.search.prior);
  for (const RoundRecord& round : record.sessions.back().rounds)
    for (const PairMeasured& pair : round.pairs) posterior.add({pair.a, pair.b, pair.rail, pair.slower()});
  posterior.update();
  const Noise& noise = posterior.noise();
  out << fmt::format("  noise {:.4g} low for once {:.4g} to {:.4g} bad ends {:.4g}\n  beliefs", noise.spread,
                     noise.transient, noise.most_transient, noise.bad_ends);
  for (unsigned rail = 0; rail < topology.rails; ++rail)
    for (unsigned node = 0; node < topology.nodes; ++node) {
      const Weights& belief = posterior.end(node, rail);
      out << (node == 0 ? "\n   " : "");
      for (std::size_t loss = 0; loss < 2; ++loss) out << fmt::format(" {:.4g}", belief[loss]);
      out << ",";
    }
  for (unsigned one = 0; one < topology.switches(); ++one)
    out << fmt::format("\n    switch {:.4g}", posterior.leaf_switch(one)[0]);
  for (const Posterior::Link& link : posterior.links())
    if (link.doubt > 1e-4)
      out << fmt::format("\n    link {}-{} {:.4g} {:.4g}", link.a, link.b, link.doubt, bad(link.belief));
  out << "\n";
}

void print_runs(std::ostringstream& out, const Record& record) {
  for (const results::StoredRun& run : as_runs(record, "cluster"))
    for (const auto& point : run.points)
      for (const MetricSummary& metric : point.metrics)
        out << fmt::format("  {} {:.4g} [{:.4g}, {:.4g}]\n", metric.name, metric.median, metric.low, metric.high);
}

std::string outcome(const Named& one, std::uint64_t seed) {
  std::ostringstream out;
  const Record record = simulated_record(one.plan, seed, [](const Record&) {});
  out << one.name << ", seed " << seed << ": " << record.sentence << "\n";
  for (const RoundRecord& round : record.sessions.back().rounds) {
    out << fmt::format("  {:.3g} s:", round.took_s);
    for (const PairMeasured& pair : round.pairs)
      if (pair.rail == 0) out << fmt::format(" {}-{}", pair.a, pair.b);
    out << "\n";
  }
  print_beliefs(out, record);
  out << "  usual";
  for (const double rate : record.usual_rate) out << fmt::format(" {:.6g}", rate);
  out << "\n";
  for (const NamedFault& fault : record.faults)
    out << fmt::format("  {}: loses {:.3g}, false by {:.4g}; {} | {}\n", fault.title(), fault.loss, fault.fault.healthy,
                       fault.text, fault.fix);
  for (const auto& [state, nodes] : nodes_by_state(record)) out << "  " << state << " " << nodes << "\n";
  for (const Step& step : next_steps(record)) out << "  " << step.when << ": " << step.command << "\n";
  if (seed == 1 && one.plan.nodes <= 10) print_runs(out, record);
  return out.str();
}

/// Hosts on two switches with a rail by TCP and two by RDMA, of which one has one alone. Parts of them lose in each
/// quality; one host goes away, one loses a NIC, and two cannot be measured together.
std::string two_networks(std::uint64_t seed) {
  constexpr unsigned kNodes = 10;
  Topology tcp{.nodes = kNodes, .rails = 1, .switch_of = {}};
  for (unsigned node = 0; node < kNodes; ++node) tcp.switch_of.push_back(node / 5);
  Topology rdma = tcp;
  rdma.rails = 2;
  rdma.absent = {kNodes + 9};
  SearchOptions options;
  options.seed = seed;
  options.every_link = seed % 2 == 0;
  Evidence evidence({tcp, rdma}, options);
  Random random(seed);
  const auto draw = [&] { return static_cast<double>(random.next() >> 11) * 0x1p-53; };
  std::ostringstream out;
  out << "two networks, seed " << seed << "\n";
  for (Round round = evidence.next(); !round.empty(); round = evidence.next()) {
    std::vector<PairMeasured> measured;
    out << " ";
    for (const auto& [a, b] : round) {
      out << fmt::format(" {}-{}", a, b);
      const auto has = [&, a = a, b = b](unsigned node) { return a == node || b == node; };
      for (unsigned rail = 0; rail < 3; ++rail) {
        if (rail > 0 && !(rdma.has(a, rail - 1) && rdma.has(b, rail - 1))) continue;
        PairMeasured one{a, b, rail, {}, {}};
        for (double& rate : one.rate) rate = (rail == 0 ? 1e9 : 20e9) * (1 + 0.02 * (draw() - 0.5));
        one.latency_s = (rail == 0 ? 30e-6 : 2e-6) * (1 + 0.2 * draw());
        if (rail == 0 && has(2)) one.latency_s += 120e-6;
        if (rail == 1 && has(4)) one.rate[0] *= 0.9;
        if (rail > 0 && has(7)) one.resent[1] = 0.006;
        if (rail == 0 && has(1) && has(6)) one.rate[1] *= 0.7;
        if (seed > 2 && (a + b) % 7 == 0)  // faster than the others by far
          for (double& rate : one.rate) rate *= 2;
        if (seed > 2 && has(3)) one.rate[0] *= 0.92, one.latency_s += 40e-6;
        measured.push_back(one);
      }
    }
    evidence.add(measured);
    if (evidence.rounds() == 2) evidence.lose(8), evidence.lose(0, 1), evidence.avoid(3, 5, 0);
    for (const Fault& fault : evidence.faults()) {
      out << fmt::format("\n    scope {} {} {} rail {} healthy {:.4g}:", static_cast<int>(fault.scope), fault.a,
                         fault.b, fault.rail, fault.healthy);
      for (const Quality quality : fault.in) out << " " << to_string(quality);
    }
    out << "\n    ";
    for (unsigned node = 0; node < kNodes; ++node) out << " " << to_string(evidence.node(node));
    out << "\n";
  }
  for (unsigned rail = 0; rail < 3; ++rail) out << fmt::format("  usual {:.6g}\n", evidence.usual_rate(rail));
  return out.str();
}

TEST(BringUpGolden, TheSameFleetIsMeasuredAndJudgedTheSame) {
  const std::string path = source_dir() + "/tests/golden/bringups.txt";
  std::string all;
  for (const Named& one : fleets())
    for (const std::uint64_t seed : {1, 2, 3}) all += outcome(one, seed);
  for (const std::uint64_t seed : {1, 2, 3, 4}) all += two_networks(seed);
  if (std::getenv("HEADRACE_WRITE_GOLDEN") != nullptr) std::ofstream(path) << all;
  std::ostringstream golden;
  golden << std::ifstream(path).rdbuf();
  std::istringstream now(all), before(golden.str());
  for (std::string one, other, fleet; std::getline(now, one);) {
    if (!one.starts_with(" ")) fleet = one;
    ASSERT_TRUE(std::getline(before, other)) << fleet;
    ASSERT_EQ(one, other) << fleet << "\nHEADRACE_WRITE_GOLDEN=1 writes it anew";
  }
}

}  // namespace
}  // namespace headrace::bringup::bringup_golden_test
