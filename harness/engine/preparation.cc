#include "harness/engine/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/engine/first_touch.h"
#include "harness/engine/search.h"
#include "harness/engine/watched.h"
#include "harness/workload/workload.h"

namespace headrace::engine {

DataProgress stoppable(RunObserver& observer) {
  return [&observer](std::uint64_t done, std::uint64_t total, std::string_view what) {
    if (stop_signal.load() != 0) throw Interrupted();
    observer.data_progress(done, total, what);
  };
}

void add_note(PointResult& result, std::string note) {
  if (std::find(result.notes.begin(), result.notes.end(), note) == result.notes.end())
    result.notes.push_back(std::move(note));
}

namespace {

constexpr double kSlowTouch_s_per_byte = 1e-9;  // slower than any memory that is there
constexpr double kTouching = 0.1;               // share of a run's budget that touching it may take before one point

}  // namespace

Preparation prepare(const Point& point, Node& node, const EngineLimits& limits, const DataProgress& progress,
                    bool alone) {
  try {
    const auto skip = std::make_shared<std::optional<Skip>>();
    const WatchedEnd end = run_watched("preparing", limits, progress,
                                       [workload = point.workload, state = point.cache, node = &node, skip, limits,
                                        pinned = point.info->traits.threads_stay](const DataProgress& reported) {
                                         *skip = workload->check(*node);
                                         if (*skip) return;
                                         workload->prepare(*node, reported);
                                         search(workload, state, pinned && node->ranks().size() == 1, limits, reported);
                                       });
    if (end.hung) return {.end = {PointStatus::error, end.why, true}};
    if (*skip) return {.end = {PointStatus::skipped, (*skip)->reason}, .refused = true};
  } catch (const TrialHung& e) {
    return {.end = {PointStatus::error, e.what(), true}};
  } catch (const UsageError& e) {
    if (alone) throw;
    return {.end = {PointStatus::error, e.what()}};
  } catch (const Unsupported& e) {
    return {.end = {PointStatus::skipped, e.what()}};
  } catch (const Interrupted&) {
    return {.end = {PointStatus::interrupted, ""}};
  } catch (const std::exception& e) {
    return {.end = {PointStatus::error, e.what()}};
  }
  return {};
}

StageEnd touch_for_reading(const Point& point, const Node& node, double budget_s, const EngineLimits& limits,
                           const DataProgress& progress, PointResult& result) {
  std::uint64_t needed = point.workload->footprint().page_cache_bytes;
  if (const DataSet* data = as<ReadsFiles>(*point.workload).data(); needed > 0 && data)
    needed = data->files().total_bytes();
  // Warm: the first reading, which is not timed, touches it.
  const bool grows = point.cache == CacheState::cold || point.cache == CacheState::asis;
  if (!limits.touch_memory || !grows) return {};
  try {
    const FirstTouch touched = touch_memory(needed, node.memory_available() / 10 * 9, kTouching * budget_s, progress);
    result.first_touch = touched;
    if (touched.elapsed_s > kSlowTouch_s_per_byte * static_cast<double>(touched.touched_bytes))
      add_note(result, fmt::format("pre-faulted memory that the hypervisor had not backed yet ({} took {:.1f} s)",
                                   format_quantity(static_cast<double>(touched.touched_bytes), Dimension::bytes, true),
                                   touched.elapsed_s));
  } catch (const Interrupted&) {
    return {PointStatus::interrupted, ""};
  }
  return {};
}

}  // namespace headrace::engine
