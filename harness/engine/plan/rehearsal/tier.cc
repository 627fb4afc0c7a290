#include "harness/engine/plan/rehearsal/tier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "harness/base/object_path.h"
#include "harness/job/formula.h"

namespace headrace::rehearsal {

using job::Job;

bool fills_tier(const Job& job, const Means& means, const Value& alone, PlanNotes& reported) {
  if (!job.local_cache || !means.rules.empty()) return false;
  const Job::LocalCache& tier = *job.local_cache;
  const char* why = tier.path.empty() ? "name its folder on this node (local_cache.path)"
                    : alone.find("use")->text == "random_read"
                        ? "only copies of whole files and shards are, which are read whole"
                    : job.loader.kind == job::LoaderKind::in_flight ? "only one of workers that wait for each file is"
                    : tier.policy == job::CachePolicy::lru          ? "only one that evicts nothing is (policy pinned)"
                    : !job.dataset.samples ? "how much of the data it holds is not known (dataset.samples)"
                                           : nullptr;
  if (why != nullptr) reported.remarks.push_back(fmt::format("the local cache is not rehearsed: {}", why));
  return why == nullptr;
}

Value tier(const Job& job, const Means& means, const Value& alone) {
  static constexpr std::array kTaken{
      "path",           "files",   "file_size", "file_size_spread", "samples_per_file", "content",
      "content_sample", "workers", "cache"};
  Value entry = entry_of("local_cache", alone, kTaken);
  if (alone.find("use")->text == "shard_stream") {
    // Shards that are made may be smaller than the job's.
    const double size = number(alone, "file_size", Dimension::bytes);
    entry = with(std::move(entry), "samples_per_file",
                 fmt::format("{:.6g}", size > 0 ? size / job.dataset.stored_size() : job.dataset.samples_per_file));
  }
  const Job::LocalCache& own = *job.local_cache;
  const double ratio = job::apply("C1", {{"available_bytes", own.capacity},
                                         {"dataset_bytes", *job.dataset.samples * job.dataset.stored_size()}})
                           .value();
  entry = with(std::move(entry), "tier", own.path);
  if (is_object_path(means.data) || (means.data.empty() && means.makes_objects))
    entry = with(std::move(entry), "cache", "asis");  // what counts a store's bytes does not see those out of the tier
  return with(std::move(entry), "tier_ratio", fmt::format("{:.6g}", std::min(1.0, ratio)));
}

}  // namespace headrace::rehearsal
