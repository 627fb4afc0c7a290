#include "harness/job/largest_writer.h"

#include <algorithm>

namespace headrace::job {

double largest_writer(const Job& job, std::span<const Need> needs) {
  const auto find = [&](std::string_view id, Scope scope) -> const Need* {
    const auto found = std::ranges::find_if(needs, [&](const Need& n) { return n.id == id && n.scope == scope; });
    return found == needs.end() ? nullptr : &*found;
  };
  const Need* largest = find("checkpoint.largest_shard", Scope::gpu);
  const Need* all = find("checkpoint.size", Scope::cluster);
  if (largest == nullptr || all == nullptr || all->required <= 0) return 1;
  const double model = job.parallelism.tensor * job.parallelism.pipeline, ranks = job.cluster.gpus_per_node,
               writers = std::min(ranks, model);
  const double weights =
      *job.model.parameters / model * std::min(job.model.weight_bytes, job.checkpoint->bytes_per_parameter);
  const double others = std::max(0.0, largest->required - weights);
  const double node = writers * largest->required + (ranks - writers) * others;
  return std::max(1.0, node / (all->required / job.cluster.nodes));
}

}  // namespace headrace::job
