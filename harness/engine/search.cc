#include "harness/engine/search.h"

#include <optional>
#include <string>

#include "harness/engine/phase_result.h"
#include "harness/engine/worker_threads.h"
#include "harness/workload/data/cache_control.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/workload.h"

namespace headrace::engine {

void search(const std::shared_ptr<Workload>& workload, CacheState state, bool pinned, const EngineLimits& limits,
            const DataProgress& progress) {
  constexpr std::uint64_t kSeed = 1;  // all trials read in the same order
  const FileTable* files = files_of(*workload);
  const auto device = files && !files->holds_objects() ? system::device_of(files->place()) : std::nullopt;
  as<SearchesSettings>(*workload).search([&](double seconds, const std::string& what) -> std::optional<PhaseResult> {
    const auto report = [&](double elapsed_s) {
      if (progress) progress(static_cast<std::uint64_t>(elapsed_s), 0, what);
    };
    report(0);
    CacheProof proof;
    if (files) establish(state, *files, {.use = as<ReadsFiles>(*workload).cache_use()}, proof);
    workload->before_phase(0, 0, kSeed);
    PhaseHooks hooks;
    hooks.live = [&](const LiveRate&, double elapsed_s) {
      try {
        report(elapsed_s);
      } catch (const std::exception&) {  // workers run: the end of the search is checked again after them
      }
    };
    const PhaseEnd end =
        run_phase({.workload = workload, .seed = kSeed, .duration_s = seconds, .device = device, .pinned = pinned},
                  limits, hooks);
    if (end.kind == PhaseEnd::Kind::hung) throw TrialHung(end.error);
    if (end.kind == PhaseEnd::Kind::interrupted) report(seconds);
    if (end.kind != PhaseEnd::Kind::done) return std::nullopt;
    TimeSeries series;
    const auto parts = static_cast<unsigned>(workload->latency_parts().size());
    PhaseResult phase = phase_result(end, as<SavesCheckpoints>(*workload).background_workers(), parts, series);
    if (phase.errors > 0) return std::nullopt;
    return phase;
  });
}

}  // namespace headrace::engine
