// What saving, keeping and restoring the model asks of GPU links, host memory and storage.
#include <fmt/format.h>

#include "harness/requirements/need_list.h"

namespace headrace::requirements {
namespace {

/// The copy to the host is all that an asynchronous save may block for: a part of the checkpoint
/// within the stall.
void add_copy(const Job& job, const Derivation& size, NeedList& needs) {
  const double stall = job.checkpoint->stall;
  for (const auto& [scope, parts, word] : {std::tuple{Scope::gpu, job.cluster.gpus(), "G"},
                                           std::tuple{Scope::node, job.cluster.nodes, "N"}}) {
    Explanation why;
    if (needs.texts())
      why = {
          "E6 of E3",
          fmt::format("K / {} / t_stall", word),
          fmt::format("{} / {} / {}", compact_quantity(size.value(), Dimension::bytes), parts,
                      compact_quantity(stall, Dimension::seconds)),
          {{"checkpoint_bytes", size.value()}, {"ranks_count", parts}, {"stall_budget_s", stall}}};
    needs.add("gpu.d2h_bandwidth", scope, size.value() / parts / stall, "B/s", std::move(why));
  }
}

}  // namespace

void add_checkpoint_needs(const Job& job, NeedList& needs) {
  if (!job.checkpoint || !job.model.parameters) return;
  const Job::Checkpoint& save = *job.checkpoint;
  const Share node{job.cluster.nodes, "nodes"}, gpu{job.cluster.gpus(), "gpus"};
  const Derivation size("E1", {{"params_count", *job.model.parameters},
                               {"bytes_per_param", save.bytes_per_parameter},
                               {"extra_bytes", save.extra}});
  const auto at_cluster_and_node = [&](std::string_view id, const Derivation& derivation) {
    needs.add(id, Scope::cluster, derivation);
    needs.add(id, Scope::node, derivation, node);
  };

  if (save.async) add_copy(job, size, needs);
  needs.add("checkpoint.size", Scope::cluster, size).informative = true;
  needs.add("checkpoint.size", Scope::node, size, node).informative = true;
  needs.add("checkpoint.size", Scope::gpu, size, gpu).informative = true;

  at_cluster_and_node("checkpoint.write_bandwidth",
                      save.async ? Derivation("E7", {{"checkpoint_bytes", size.value()},
                                                     {"interval_s", save.interval},
                                                     {"stage_time_s", save.stall},
                                                     {"duty_ratio", save.duty}})
                                 : Derivation("E5", {{"checkpoint_bytes", size.value()},
                                                     {"stall_budget_s", save.stall}}));
  if (save.async)
    needs.add("checkpoint.host_memory", Scope::node,
              Derivation("E8", {{"node_checkpoint_bytes", size.value() / job.cluster.nodes},
                                {"buffers_count", save.buffers}}));
  if (save.restore)
    at_cluster_and_node(
        "checkpoint.restore_bandwidth",
        Derivation("E9", {{"checkpoint_bytes", size.value()},
                          {"weight_bytes", *job.model.parameters * job.model.weight_bytes},
                          {"weight_readers_count", save.weight_readers},
                          {"restore_budget_s", *save.restore}}));
  needs.add("checkpoint.capacity", Scope::cluster,
            Derivation("E10", {{"checkpoint_bytes", size.value()},
                               {"kept_count", save.keep},
                               {"in_flight_count", 1}}));
}

}  // namespace headrace::requirements
