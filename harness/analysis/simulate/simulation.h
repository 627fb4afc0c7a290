// A job on more and more nodes. It finds quantiles over many seeds, the first limit, and the best part to enlarge by a
// tenth.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/analysis/simulate/scenarios.h"
#include "harness/judge/verdict/word.h"

namespace headrace::simulate {

struct SimulationPlan {
  std::vector<job::Job> jobs;  // one for each number of nodes, fewest first
  System system;
  std::uint64_t seed = kSeed;
  unsigned seeds = kSeeds, threads = 1;
};

/// A figure over all seeds.
struct Spread : Quantiles {
  Figure figure = Figure::first_epoch_busy;
  std::optional<double> required;
  Limit limit = Limit::none;  // of most seeds
  /// Even the better of the bounds misses the required value.
  bool fails() const { return required && misses(kind_of(figure).more_is_better ? high : low); }
  /// The median misses it.
  bool is_expected_to_miss() const { return required && misses(median); }

 private:
  bool misses(double value) const { return kind_of(figure).more_is_better ? value < *required : value > *required; }
};

/// One number of nodes.
struct Scale {
  double nodes = 1, gpus = 1;
  std::vector<Spread> figures;  // those that something is known for
  bool shown = true;            // no supply is continued beyond its measured or stated counts
  const Spread* find(Figure figure) const;
  /// The figure that misses its limit by the most, or comes nearest to that; nullptr: none has a limit.
  const Spread* tightest() const;
};

/// Where a figure misses its limit: from `nodes` on up to the most simulated ones, or with fewer than `holds_from`.
struct Break {
  Figure figure = Figure::first_epoch_busy;
  double nodes = 0, holds_to = 0;  // the latter: the most simulated nodes before; 0: none
  double holds_from = 0;           // 0: it is `nodes` that it misses from
  Limit limit = Limit::none;
};

/// A tenth more of one value of the system.
struct Gain {
  std::string key;
  double from = 0, to = 0;  // the medians of Simulation::gained
  double gain = 0;          // how much better: a tenth is 0.1
  double price = 0;         // [USD]; 0: not given
};

struct Simulation {
  std::vector<Scale> scales;
  std::vector<Break> breaks;  // fewest nodes first
  Figure gained = Figure::goodput;
  std::vector<Gain> gains;           // best first: where every gain has a price, by gain per price
  std::vector<std::string> missing;  // figures that nothing is known for, and why
  std::string storm;                 // the scenario of `moments`
  std::vector<Moment> moments;       // of the largest scale's first seed, at most a few hundred
  Outcome word = Outcome::inconclusive;
  std::string sentence, cause;
};

/// Runs everything. `progress` is called with the share that is done and may throw to stop. The result depends on the plan
/// alone, not on threads. Never PASS: FAIL where the largest scale fails, else INCONCLUSIVE.
Simulation simulate(const SimulationPlan& plan, const std::function<void(double)>& progress = {});

/// Parts that cannot be simulated, each with its reason. Examples are values that contradict the system, deadlines that
/// no store meets, and unknown uses of the store. Throws UsageErrors.
void check(const SimulationPlan& plan);

}  // namespace headrace::simulate
