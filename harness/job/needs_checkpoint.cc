// What saving, keeping and restoring the model asks of GPU links, host memory and storage.
#include <fmt/format.h>

#include "harness/job/need_list.h"

namespace headrace::job {
namespace {

/// The copy to the host is the only blocking part of an asynchronous save. It moves a part of the checkpoint within the
/// stall.
void add_copy(const Job& job, double size, NeedList& needs) {
  const double stall = job.checkpoint->stall;
  for (const auto& [scope, parts, word] :
       {std::tuple{Scope::gpu, job.cluster.gpus(), "gpus"}, std::tuple{Scope::node, job.cluster.nodes, "nodes"}}) {
    Explanation why;
    if (needs.texts())
      why = {"E6 of E3",
             fmt::format("K / {} / t_stall", scope == Scope::gpu ? "G" : "N"),
             fmt::format("checkpoint bytes / {} / stall budget", word),
             fmt::format("{} / {} / {}", compact_quantity(size, Dimension::bytes), parts,
                         compact_quantity(stall, Dimension::seconds)),
             {{"checkpoint_bytes", size}, {"ranks_count", parts}, {"stall_budget_s", stall}}};
    needs.add("gpu.d2h_bandwidth", scope, size / parts / stall, "B/s", std::move(why));
  }
}

/// The first replica writes the weights alone when only the optimizer's state is spread.
void add_largest_shard(const Job& job, NeedList& needs) {
  const Job::Parallelism& p = job.parallelism;
  const double weights = std::min(job.model.weight_bytes, job.checkpoint->bytes_per_parameter);
  needs.add("checkpoint.largest_shard", Scope::gpu,
            Derivation("E4", {{"params_count", *job.model.parameters},
                              {"weight_bytes_per_param", weights},
                              {"optimizer_bytes_per_param", job.checkpoint->bytes_per_parameter - weights},
                              {"tensor_parallel_count", p.tensor},
                              {"pipeline_parallel_count", p.pipeline},
                              {"data_parallel_count", job.replicas() * p.context}}));
}

}  // namespace

Derivation checkpoint_size_of(const Job& job) {
  return Derivation("E1", {{"params_count", *job.model.parameters},
                           {"bytes_per_param", job.checkpoint->bytes_per_parameter},
                           {"extra_bytes", job.checkpoint->extra}});
}

Derivation checkpoint_write_of(const Job& job, double checkpoint_bytes) {
  const Job::Checkpoint& save = *job.checkpoint;
  if (save.async)
    return Derivation("E7", {{"checkpoint_bytes", checkpoint_bytes},
                             {"interval_s", save.interval},
                             {"stage_time_s", save.stall},
                             {"duty_ratio", save.duty}});
  return Derivation(
      "E5",
      {{"checkpoint_bytes", checkpoint_bytes}, {"stall_budget_s", save.stall}, {"fixed_overhead_s", save.overhead}});
}

void add_checkpoint_needs(const Job& job, NeedList& needs) {
  if (!needs.have(
          {"checkpoint.size", "checkpoint.write_bandwidth", "checkpoint.restore_bandwidth", "checkpoint.capacity"},
          {"checkpoint.interval", "checkpoint.stall", "model.parameters"}))
    return;
  const Job::Checkpoint& save = *job.checkpoint;
  const Derivation size = checkpoint_size_of(job);
  if (save.async) add_copy(job, size.value(), needs);
  needs.add_shared("checkpoint.size", size);
  needs.add("checkpoint.size", Scope::gpu, size, {job.cluster.gpus(), "gpus"});
  needs.add_shared("checkpoint.write_bandwidth", checkpoint_write_of(job, size.value()));
  if (save.async)
    needs.add("checkpoint.host_memory", Scope::node,
              Derivation("E8", {{"node_checkpoint_bytes", size.value() / job.cluster.nodes},
                                {"buffers_count", save.buffers}}));
  if (needs.have({"checkpoint.restore_bandwidth"}, {"checkpoint.restore"}))
    needs.add_shared("checkpoint.restore_bandwidth",
                     Derivation("E9", {{"checkpoint_bytes", size.value()},
                                       {"weight_bytes", *job.model.parameters * job.model.weight_bytes},
                                       {"weight_readers_count", save.weight_readers},
                                       {"restore_budget_s", *save.restore},
                                       {"fixed_overhead_s", save.restore_overhead}}));
  needs.add("checkpoint.capacity", Scope::cluster,
            Derivation("E10", {{"checkpoint_bytes", size.value()}, {"kept_count", save.keep}, {"in_flight_count", 1}}));
  if (job.parallelism.sharding == Sharding::zero1 || job.parallelism.sharding == Sharding::zero2)
    add_largest_shard(job, needs);
}

}  // namespace headrace::job
