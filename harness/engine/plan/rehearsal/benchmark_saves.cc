#include "harness/engine/plan/rehearsal/benchmark_saves.h"

#include <fmt/format.h>

#include <cmath>

#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/engine/plan/benchmark/checkpoints.h"
#include "harness/engine/plan/job_points/checkpoints.h"

namespace headrace::rehearsal {
namespace {

using config::Value;
using job::Job;

// The saves, the reads, and the one that is read.
constexpr double kTimes = 2 * benchmark_rules::kCheckpoints + 1;
// On storage: the save before, the one that takes its place, and the one that is read.
constexpr double kAtOnce = 3;

/// Exactly so many, however much they differ.
Value repeated(double times, double budget_s) {
  Value repeat, looks;
  repeat.kind = Value::Kind::map;
  looks.kind = Value::Kind::list;
  looks.items.push_back(Value::scalar(fmt::format("{:.0f}", times), {}));
  repeat.set("looks", looks);
  repeat.set("budget", Value::scalar(exact_quantity(budget_s, Dimension::seconds), {}));
  return repeat;
}

}  // namespace

FromJob benchmark_saves(const Job& job, const Means& means) {
  const job_points::SaveMeans saving{.space = static_cast<double>(means.space) / kAtOnce,
                                     .memory = static_cast<double>(means.memory) / 4,
                                     .save_s = means.budget_s / kTimes,
                                     .rate = INFINITY,
                                     .restores = true};
  FromJob made;
  made.workloads.kind = Value::Kind::list;
  for (job_points::Entry& entry : job_points::checkpoints(job, saving)) {
    if (entry.is_advice()) continue;
    entry.value.set("repeat", repeated(benchmark_rules::kCheckpoints, means.budget_s));
    made.workloads.items.push_back(std::move(entry.value));
    made.unproven.push_back(std::move(entry.unproven));
  }
  if (made.workloads.items.empty())
    throw UsageError(
        fmt::format("no rehearsal: a checkpoint of {:.0f} ranks does not fit what may be written, {}: "
                    "--max-write SIZE",
                    job_points::ranks_here(job), format_quantity(static_cast<double>(means.space), Dimension::bytes)));
  made.rules =
      check_planned_saves(means.rules, job, {.hosts = means.processes, .ranks_on_host = job_points::ranks_here(job)});
  made.remarks.push_back(
      fmt::format("the checkpoints of {} are rehearsed by their rules; without --rules the job's "
                  "loader is, and its checkpoints on the way",
                  benchmark_model(means.rules, job)->name));
  return made;
}

}  // namespace headrace::rehearsal
