#include "harness/bringup/simulation/made_fleet.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace::bringup {
namespace {

/// That many different ones of `count`.
std::vector<bool> drawn(Random& random, unsigned count, unsigned wanted) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  shuffle(std::span(order), random);
  std::vector<bool> chosen(count, false);
  for (unsigned i = 0; i < std::min(wanted, count); ++i) chosen[order[i]] = true;
  return chosen;
}

}  // namespace

double uniform(Random& random) { return static_cast<double>(random.next() >> 11) * 0x1p-53; }

double normal(Random& random) {
  const double first = uniform(random), second = uniform(random);  // in this order with every compiler
  return std::sqrt(-2 * std::log(1 - first)) * std::cos(2 * M_PI * second);
}

/// Too many links to draw each: a hash of both nodes reports.
bool MadeFleet::bad_link(unsigned a, unsigned b) const {
  Random draw(links_seed ^ (std::uint64_t{std::min(a, b)} << 32 | std::max(a, b)));
  return plan.bad_links > 0 && uniform(draw) < plan.bad_links;
}

double MadeFleet::rate(unsigned a, unsigned b, Random& random) const {
  const bool out = topology.apart(a, b) && (bad_switch[topology.leaf(a)] || bad_switch[topology.leaf(b)]);
  double rate = bad_node[a] || bad_node[b] || out || bad_link(a, b) ? 1 - plan.loss : 1;
  if (uniform(random) < plan.transient) rate *= 1 - plan.transient_loss;
  const double noise = uniform(random) < plan.heavy ? 4 * plan.noise : plan.noise;
  return std::max(1e-3, rate * (1 + noise * normal(random)));
}

MadeFleet made_fleet(const FleetPlan& plan, Random& random) {
  MadeFleet made{plan, {.nodes = plan.nodes, .rails = plan.rails, .switch_of = {}}, {}, {}, 0};
  if (plan.nodes_per_switch > 0)
    for (unsigned node = 0; node < plan.nodes; ++node) made.topology.switch_of.push_back(node / plan.nodes_per_switch);
  made.bad_node = drawn(random, plan.nodes, static_cast<unsigned>(std::lround(plan.bad * plan.nodes)));
  made.bad_switch = drawn(random, made.topology.switches(), plan.bad_switches);
  made.links_seed = random.next();
  return made;
}

}  // namespace headrace::bringup
