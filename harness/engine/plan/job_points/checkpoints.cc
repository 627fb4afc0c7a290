#include "harness/engine/plan/job_points/checkpoints.h"

#include <algorithm>
#include <cmath>

#include "harness/backends/engines.h"
#include "harness/base/units.h"

namespace headrace::job_points {
namespace {

using job::Job;

constexpr double kLeastShard = 4096;

std::string bytes(double value) { return format_quantity(value, Dimension::bytes); }

}  // namespace

double ranks_here(const Job& job) { return std::floor(std::min(job.cluster.gpus_per_node, 1024.0)); }

double checkpoint_bytes(const Job& job) {
  return *job.model.parameters * job.checkpoint->bytes_per_parameter + job.checkpoint->extra;
}

std::vector<Entry> checkpoints(const Job& job, const SaveMeans& means) {
  const double ranks = ranks_here(job), size = checkpoint_bytes(job) / job.cluster.gpus();
  const bool async = job.checkpoint->async;
  double most = std::min(means.space, means.rate * means.save_s) / ranks;
  if (async) most = std::min(most, means.memory / ranks);
  const double shard = std::min(size, most);
  if (shard < kLeastShard) return {};
  const auto entry = [&](const char* use, const char* label) {
    Entry one(use, label);
    one.timed = false;
    if (shard < size)
      one.open(
          "checkpoint shards of {} instead of {}: effects of the full size (full caches, burst limits) are not "
          "measured",
          bytes(std::floor(shard)), bytes(size));
    one.count("ranks", static_cast<std::uint64_t>(ranks)).size("shard_size", static_cast<std::uint64_t>(shard));
    return one;
  };
  const auto save = [&](const char* label) {
    Entry one = entry("checkpoint_write", label);
    one.put("save_within", exact_quantity(means.save_s, Dimension::seconds)).put("mode", async ? "async" : "sync");
    return one;
  };
  std::vector<Entry> all{save("job")};
  if (!means.objects) {
    all.push_back(save("around-the-cache"));
    all.back().put("engine", queueing_engine()).put("direct", "true").put("preallocate", "true");
  }
  if (!means.restores) return all;
  const auto restore = [&](const char* label) {
    Entry one = entry("checkpoint_read", label);
    one.put("cache", "cold");
    return one;
  };
  all.push_back(restore("job"));
  all.push_back(restore("in-flight"));
  all.back().put("engine", means.objects ? object_engine() : queueing_engine()).count("queue_depth", 16);
  return all;
}

}  // namespace headrace::job_points
