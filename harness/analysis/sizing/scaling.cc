// A phase's supply and demand over the number of GPUs.
#include <algorithm>
#include <cmath>

#include "harness/analysis/sizing/parts.h"

namespace headrace::sizing {

using job::Job;

Scaling scaling_of(const Job& job, const Phase& phase) {
  Scaling s;
  s.phase = phase.phase;
  s.unit = phase.unit;
  const double per_node = job.cluster.gpus_per_node, gpus = job.cluster.gpus();
  s.measured_to_gpus = std::min<double>(phase.curve->measured_to(), 1e6) * per_node;
  const double fed = phase.gpus_fed ? phase.gpus_fed->mean : 0;
  const double reach = std::max({gpus * 2, std::min(fed * 1.5, gpus * 8), s.measured_to_gpus * 2});
  std::vector<double> grid;
  for (double g = 1; g < per_node; ++g)
    if (per_node <= 16) grid.push_back(g);
  const double nodes = std::ceil(reach / per_node);
  for (double n = 1; n <= nodes; n = nodes <= 16 ? n + 1 : std::max(n + 1, std::round(n * 1.25)))
    grid.push_back(n * per_node);
  for (const double must : {gpus, s.measured_to_gpus}) grid.push_back(must);
  std::sort(grid.begin(), grid.end());
  grid.erase(std::unique(grid.begin(), grid.end()), grid.end());
  for (const double g : grid) {
    s.gpus.push_back(g);
    s.demand.push_back(phase.demand.grows_with_gpus ? phase.demand.per_gpu * job.safety * g : phase.demand.need);
    const double clients = std::ceil(g / per_node);
    if (phase.curve->reach(clients) < clients) continue;
    const Curve::Value v = phase.curve->at(clients);
    s.supply.push_back(v.mean);
    s.low.push_back(v.low);
    s.high.push_back(v.high);
    s.extrapolated.push_back(v.basis == Basis::extrapolated);
  }
  const double step = phase.demand.per_gpu * job.safety;
  for (std::size_t i = 0; i < s.supply.size(); ++i) {
    const bool met = s.supply[i] >= s.demand[i];
    if (!phase.demand.grows_with_gpus) {
      if (!met) continue;
      s.crossing = grid[i];
      break;
    }
    if (met) continue;
    // The last number of GPUs before the first whose demand is not met.
    s.crossing = std::clamp(std::floor(s.supply[i] / step), i == 0 ? 0 : grid[i - 1], grid[i]);
    break;
  }
  return s;
}

}  // namespace headrace::sizing
