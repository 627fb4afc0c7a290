// What more and more clients give together: is the backend behind them saturated, and by how many?
// Formulas G6 and G7.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace headrace {

/// Do more clients give no more? True when each further client between two counts gave at most a tenth of each of the
/// fewer. Rates are of all clients together.
bool stopped_growing(double clients, double rate, double more_clients, double their_rate);

/// Which of `counts` (ascending, at least two) to compare the last one with. It is the largest up to two thirds of it,
/// else the fewest. Between neighbouring counts the noise of one measurement exceeds one client's contribution, and
/// hides whether growth stopped.
std::size_t count_to_hold_against(std::span<const double> counts);

/// One workload with all else equal, measured by several numbers of clients.
struct ScalingCurve {
  struct At {
    unsigned clients = 0;
    std::string point;      // its id
    double rate = 0;        // all together, the median [unit]
    double expected = 0;    // G6: as many times one client's, but no more than a saturated backend
    double efficiency = 0;  // rate over as many times one client's
  };
  std::string workload, metric, unit;
  std::vector<At> at;  // fewest clients first, at least two
  // The result of judge_scaling():
  double per_client = 0;          // of the fewest clients, each
  bool saturated = false;         // stopped growing at the most clients measured
  double most = 0;                // the highest rate; saturated: the backend's rate
  double saturation_clients = 0;  // G7: fewest clients that can show it; 0 = not known
  unsigned reached_by = 0;        // fewest measured clients that gave nine tenths of it; 0 = not known
  std::string substituted;        // G7 with numbers, or ""
  std::string finding;            // one sentence
};

/// Fills in all but workload, metric, unit and each point's clients, id and rate.
void judge_scaling(ScalingCurve& curve);

}  // namespace headrace
