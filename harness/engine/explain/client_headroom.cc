#include "harness/engine/explain/client_headroom.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/job/formula.h"
#include "harness/judge/statistics/summary.h"

namespace headrace {

std::optional<ClientHeadroom> client_headroom(const PointResult& point, double cores, double ports) {
  constexpr double kNoLimit = 1e15;
  if (point.point == nullptr || point.point->cache == CacheState::asis) return std::nullopt;  // not of storage
  std::vector<double> rates, busy;
  for (const Repetition& r : point.repetitions) {
    if (!r.counted || r.status != RepetitionStatus::ok || r.phases.empty()) continue;
    const PhaseResult& phase = r.phases.front();
    if (phase.elapsed_s <= 0 || phase.cpu_s <= 0 || phase.bytes == 0) continue;
    rates.push_back(static_cast<double>(phase.bytes) / phase.elapsed_s);
    busy.push_back(phase.cpu_s / phase.elapsed_s);
  }
  if (rates.empty()) return std::nullopt;
  ClientHeadroom one{
      .rate = statistics::median(rates), .busy = statistics::median(busy), .processors = point.nodes * cores};
  const auto could_take = [&](double nic) {
    return job::apply("A29", {{"hosts_count", static_cast<double>(point.nodes)},
                              {"cores_per_host_count", cores},
                              {"sample_bytes", one.rate},
                              {"cpu_time_per_sample_s", one.busy},
                              {"nic_bytes_per_s", nic},
                              {"readers_per_host_count", 1},
                              {"read_time_s", one.rate / kNoLimit}})
        .value();
  };
  const double by_processors = could_take(kNoLimit);
  one.could_take = ports > 0 ? std::min(by_processors, could_take(ports)) : by_processors;
  one.limit = one.could_take < by_processors ? "ports" : "processors";
  return one;
}

void report_client_headrooms(std::span<PointResult> points, double cores, double ports) {
  for (PointResult& point : points)
    if (const auto one = client_headroom(point, cores, ports)) {
      point.facts.emplace_back("client_headroom", fmt::format("{:.3g}", one->could_take / one->rate));
      point.facts.emplace_back("client_limit", one->limit);
      point.facts.emplace_back("client_processors", fmt::format("{:.3g} of {:g} busy", one->busy, one->processors));
    }
}

}  // namespace headrace
