// How alike the nodes are to themselves.
#include <algorithm>

#include "harness/analysis/fleet/state.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::fleet {

std::optional<NodeNoise> noise_of(const std::vector<const NodeRun*>& newest) {
  NodeNoise noise;
  std::vector<double> floors, alarms;
  for (const NodeRun* run : newest) {
    if (!run->noise) continue;
    floors.push_back(run->noise->median);
    alarms.push_back(run->noise->false_alarm_rate);
    if (noise.highest_node.empty() || run->noise->median > noise.highest) {
      noise.highest = run->noise->median;
      noise.highest_node = run->node;
    }
  }
  if (floors.empty()) return std::nullopt;
  noise.nodes = floors.size();
  noise.median = statistics::median(floors);
  noise.false_alarm_rate = statistics::median(alarms);
  return noise;
}

}  // namespace headrace::fleet
