#include "harness/engine/plan/rehearsal/saves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/engine/plan/benchmark/checkpoints.h"
#include "harness/engine/plan/job_points/checkpoints.h"

namespace headrace::rehearsal {

using job::Job;

namespace {

constexpr double kSaves = 3;  // checkpoints of a repetition
constexpr double kLeastShard = 4096;

std::string reported_time(double s) { return format_quantity(s, Dimension::seconds); }

}  // namespace

bool saves(const Job& job, const Means& means) { return job.checkpoint && job.model.parameters && means.rules.empty(); }

Value saving(const Job& job, const Means& means, Value entry, double step_s, double steps, PlanNotes& reported) {
  const Job::Checkpoint& save = *job.checkpoint;
  const double ranks = job_points::ranks_here(job);
  const double size = job_points::checkpoint_bytes(job) / job.cluster.gpus();
  const double own_every = save.interval / step_s;  // steps
  const double most =
      (save.async ? std::min(means.save_space, static_cast<double>(means.memory) / 2) : means.save_space) / ranks;
  // Whole steps; at least two, as the first step of a repetition counts for nothing.
  double every = std::max(2.0, std::floor(std::min(own_every, steps / kSaves)));
  every = std::max(2.0, std::floor(std::min(every, own_every * most / size)));
  const double shard = std::floor(std::min(size * every / own_every, most));
  reported.unproven.push_back(fmt::format(
      "checkpoints of {} of each of {:.0f} ranks every {} of computing instead of {} every {}: {}, and effects of "
      "large saves (full caches, burst limits) are not measured",
      format_quantity(std::max(shard, kLeastShard), Dimension::bytes), ranks, reported_time(every * step_s),
      format_quantity(size, Dimension::bytes), reported_time(save.interval),
      shard < 0.99 * size * every / own_every || shard < kLeastShard ? "not as many bytes per second as the job's"
                                                                     : "as many bytes per second"));
  entry = with(std::move(entry), "checkpoint_every", fmt::format("{:.0f}", every));
  entry = with(std::move(entry), "checkpoint_ranks", fmt::format("{:.0f}", ranks));
  entry = with(std::move(entry), "checkpoint_shard_size", fmt::format("{:.0f}B", std::max(shard, kLeastShard)));
  return with(std::move(entry), "checkpoint_mode", save.async ? "async" : "sync");
}

namespace {

using config::Value;

// The saves, the reads, and the one that is read.
constexpr double kTimes = 2 * benchmark_rules::kCheckpoints + 1;
// On storage: the save before, the one that takes its place, and the one that is read.
constexpr double kAtOnce = 3;

/// Exactly that many, however much they differ.
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
