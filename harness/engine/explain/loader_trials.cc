#include "harness/engine/explain/loader_trials.h"

#include <fmt/format.h>

#include <set>

#include "harness/engine/explain/measured_point.h"
#include "harness/engine/explain/rehearsal.h"
#include "harness/engine/plan/rehearsal.h"

namespace headrace::engine {
namespace {

/// The page cache was empty before. Without counters of bytes from beyond it, the rate may equal storage's, and proves
/// nothing.
bool is_unseen(const CacheProof& proof) {
  return proof.counter.empty() && proof.resident_before >= 0 && proof.resident_before <= CacheProof::kMostOfOther;
}

/// The point's metric, where it may have come from storage.
std::optional<Estimate> from_storage(const PointResult* point, std::string_view metric, bool& unseen) {
  if (const auto estimate = proven(point, metric)) return estimate;
  if (point == nullptr) return std::nullopt;
  PointResult copy = *point;
  for (Repetition& r : copy.repetitions) {
    if (!is_unseen(r.cache)) continue;
    r.cache.proven = true;
    unseen = true;
  }
  return proven(&copy, metric);
}

std::optional<TriedLoader> tried(const PointResult* point, const char* metric, double gpus, bool& unseen) {
  const auto utilization = from_storage(point, metric, unseen);
  const auto rate = from_storage(point, "sample_rate", unseen);
  if (!utilization || !rate) return std::nullopt;
  return TriedLoader{.workers = param(*point->point, "workers") / gpus,
                     .prefetch_factor = param(*point->point, "prefetch_factor"),
                     .utilization = *utilization,
                     .rate = rate->value / point->processes};
}

}  // namespace

std::optional<LoaderTrials> loader_trials(const Plan& plan, const std::vector<PointResult>& points) {
  const auto label = [](const char* begin) { return fmt::format("{}/{}", rehearsal::kPipeline, begin); };
  const std::string by_workers = label(rehearsal::kWorkers), by_prefetch = label(rehearsal::kPrefetch);
  LoaderTrials trials;
  std::set<double> workers, prefetch;
  for (const Point& point : plan.points) {
    if (point.id == label(rehearsal::kJob)) trials.gpus = param(point, "gpus");
    if (point.id.starts_with(by_workers)) workers.insert(param(point, "workers") / trials.gpus);
    if (point.id.starts_with(by_prefetch)) prefetch.insert(param(point, "prefetch_factor"));
  }
  trials.workers.assign(workers.begin(), workers.end());
  trials.prefetch.assign(prefetch.begin(), prefetch.end());
  if (trials.workers.empty() && trials.prefetch.empty()) return std::nullopt;
  bool& unseen = trials.client_cache_unseen;
  for (const PointResult& p : points)
    if (p.point->id.starts_with(by_workers) || p.point->id.starts_with(by_prefetch))
      if (auto one = tried(&p, "accelerator_utilization", trials.gpus, unseen)) trials.others.push_back(*one);
  const PointResult* const whole = measured_point(points, rehearsal::kPipeline, rehearsal::kJob);
  if (whole == nullptr) return trials;
  const PointResult* const unsaved = measured_point(points, rehearsal::kPipeline, rehearsal::kNoCheckpoint);
  trials.own = unsaved != nullptr ? tried(unsaved, "utilization_without_saves", trials.gpus, unseen)
                                  : tried(whole, "accelerator_utilization", trials.gpus, unseen);
  trials.busy_share = median_of(*whole, "reading_share") + median_of(*whole, "decoding_share");
  trials.taken = taken_by(*whole->point, 1);
  const auto alone =
      from_storage(measured_point(points, rehearsal::kPipeline, rehearsal::kNoStep), "sample_rate", unseen);
  if (alone) trials.alone = alone->low / whole->processes;
  if (const PointResult* decoding = measured_point(points, "decode", rehearsal::kJob))
    trials.cpu_time_s = median_of(*decoding, "cpu_time_per_sample");
  return trials;
}

}  // namespace headrace::engine
