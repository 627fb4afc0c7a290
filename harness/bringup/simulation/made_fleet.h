// One fleet of a simulation: its faults, and the rates of its pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/bringup/simulation/simulation.h"

namespace headrace::bringup {

struct MadeFleet {
  const FleetPlan& plan;
  Topology topology;
  std::vector<bool> bad_node, bad_switch;
  std::uint64_t links_seed = 0;

  bool bad_link(unsigned a, unsigned b) const;
  /// As a share of what healthy ones reach; above 0.
  double rate(unsigned a, unsigned b, Random& random) const;
};

/// The same random numbers make the same fleet. Refers to `plan`.
MadeFleet made_fleet(const FleetPlan& plan, Random& random);

/// Uniform in 0..1; and normally distributed with a deviation of 1.
double uniform(Random& random);
double normal(Random& random);

}  // namespace headrace::bringup
