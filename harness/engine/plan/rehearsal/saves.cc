#include "harness/engine/plan/rehearsal/saves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

}  // namespace headrace::rehearsal
