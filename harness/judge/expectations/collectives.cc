#include "harness/judge/expectations/collectives.h"

#include <algorithm>

#include "harness/job/formula.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::expectations {
namespace {

/// A generation of NVLink, the GPUs that have it as F28 names them, and what NCCL counts of a link's rate
/// (src/graph/topo.h: 20.0 of 25, 20.6 of 25, 40.1 of 50 GB/s).
struct Generation {
  std::string_view model;
  double gpu_generation, share;
};
constexpr Generation kGenerations[] = {
    {"NVLink 3", 0, 20.0 / 25}, {"NVLink 4", 1, 20.6 / 25}, {"NVLink 5", 2, 40.1 / 50}};

const Generation* generation_of(const Part& part) {
  const auto* const at = std::ranges::find(kGenerations, std::string_view(part.model), &Generation::model);
  return at == std::end(kGenerations) ? nullptr : at;
}

double time(double bytes, double gpus, double generation, double links, double latencies, double launch) {
  return job::apply("F28", {{"message_bytes", bytes},
                            {"ranks_count", gpus},
                            {"nodes_count", 1},
                            {"gpu_generation", generation},
                            {"intra_bytes_per_s", links},
                            {"latency_scale_ratio", latencies},
                            {"launch_time_s", launch}})
      .value();
}

/// GPUs that have NVLinks; none where these are not alike.
std::vector<const Part*> nvlinks_of(std::span<const Part> parts) {
  std::vector<const Part*> gpus;
  for (const Part& part : parts)
    if (part.kind == "nvlink") gpus.push_back(&part);
  const auto differs = [&](const Part* p) { return p->model != gpus.front()->model || p->rate != gpus.front()->rate; };
  if (std::ranges::any_of(gpus, differs)) gpus.clear();
  return gpus;
}

}  // namespace

std::optional<AllReduceTime> all_reduce_time(const Part& nvlink, unsigned gpus, double bytes) {
  const Generation* generation = generation_of(nvlink);
  if (generation == nullptr || nvlink.rate <= 0 || gpus < 2) return std::nullopt;
  const double links = nvlink.rate * generation->share;
  AllReduceTime one{
      .bytes = bytes,
      .fastest_s = time(bytes, gpus, generation->gpu_generation, links, 1, 0),
      .slowest_s = time(bytes, gpus, generation->gpu_generation, kSoundShare * links, kSlowestLatency, kLaunch)};
  one.factor = job::apply("F1", {{"collective", 0}, {"ranks_count", static_cast<double>(gpus)}}).value();
  return one;
}

std::optional<AllReduceProspect> all_reduce_prospect(std::span<const Part> parts) {
  const std::vector<const Part*> gpus = nvlinks_of(parts);
  if (gpus.size() < 2) return std::nullopt;
  AllReduceProspect prospect{.gpus = static_cast<unsigned>(gpus.size()), .links = gpus.front()->how, .sizes = {}};
  for (double bytes = 1 << 10; bytes <= 0x1p33; bytes *= 8)
    if (const auto one = all_reduce_time(*gpus.front(), prospect.gpus, bytes)) prospect.sizes.push_back(*one);
  if (prospect.sizes.empty()) return std::nullopt;
  return prospect;
}

std::vector<MeasuredAllReduce> measured_all_reduces(std::span<const Part> parts,
                                                    std::span<const judging::RecordedPoint> points) {
  const std::vector<const Part*> gpus = nvlinks_of(parts);
  std::vector<MeasuredAllReduce> all;
  if (gpus.size() < 2) return all;
  for (const judging::RecordedPoint& point : points) {
    const auto size = point.params.find("message_size");
    const auto* bytes = size == point.params.end() ? nullptr : std::get_if<std::uint64_t>(&size->second);
    const std::vector<double> times = point.values("time_s");
    if (point.workload != "nccl_all_reduce" || bytes == nullptr || times.empty() || !point.group ||
        point.group->groups != 1 || point.group->nodes != 1)
      continue;
    if (const auto expected = all_reduce_time(*gpus.front(), point.group->ranks, static_cast<double>(*bytes)))
      all.push_back({.point = point.id, .time_s = statistics::median(times), .expected = *expected});
  }
  return all;
}

}  // namespace headrace::expectations
