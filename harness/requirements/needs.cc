// All needs of a job, and the workload metrics that measure them.
#include "harness/requirements/needs.h"

#include <algorithm>
#include <cmath>

#include "harness/requirements/need_list.h"
#include "harness/requirements/uncertainty.h"

namespace headrace::requirements {
namespace {

/// The workload whose reads are like the layout's.
std::string_view reader_of(Layout layout) {
  switch (layout) {
    case Layout::files:
      return "small_file_read";
    case Layout::shards:
      return "shard_stream";
    case Layout::tokens:
      return "random_read";
  }
  return "";
}

/// What measures a need on one node, best first.
std::vector<std::string> measured_by(std::string_view id, Scope scope, const Job& job) {
  const Layout layout = job.dataset.layout;
  const std::string reader(reader_of(layout));
  if (id == "ingest.sample_rate") return {reader + ".sample_rate"};
  if (id == "ingest.read_bandwidth") return {reader + ".read_bandwidth"};
  if (id == "ingest.read_iops" && layout == Layout::files)
    return {"random_read.read_iops", "small_file_read.read_iops"};
  if (id == "ingest.read_iops") return {"random_read.read_iops"};
  if (id == "ingest.open_rate" && layout == Layout::files) return {"small_file_read.open_rate"};
  if (id == "ingest.open_rate") return {"small_file_read.open_rate", "metadata.open_rate"};
  if (id == "ingest.metadata_rate") return {"metadata.operation_rate", "small_file_read.metadata_rate"};
  if (id == "ingest.steady_read_bandwidth") return {"epochs.steady_storage_bandwidth"};
  if (id == "host.cpu_cores") return {"host_facts.cpu_cores"};
  if (id == "host.prefetch_memory" || id == "checkpoint.host_memory" || id == "loader.shuffle_memory")
    return {"host_facts.memory_available"};
  if (id == "host.memory_bandwidth") return {"memory_copy.copy_bandwidth"};
  // A GPU's own need is held against the slowest GPU, the node's against all of them at once.
  const std::string copied = scope == Scope::gpu ? ".bandwidth" : ".node_bandwidth";
  if (id == "gpu.h2d_bandwidth") return {"h2d" + copied};
  if (id == "gpu.d2h_bandwidth") return {"d2h" + copied};
  if (id == "checkpoint.write_bandwidth") return {"checkpoint_write.durable_bandwidth"};
  if (id == "checkpoint.restore_bandwidth") return {"checkpoint_read.read_bandwidth"};
  if (id == "checkpoint.capacity") return {"host_facts.free_space"};
  if (id == "network.gradient_busbw") return {"nccl_all_reduce.busbw", "rdma_all_reduce.busbw", "mpi_all_reduce.busbw"};
  if (id == "network.tensor_busbw") return {"nccl_all_reduce.busbw", "mpi_all_reduce.busbw"};
  const bool ring = job.parallelism.context_method == ContextMethod::ring;
  if (id == "network.pipeline_bandwidth" || (id == "network.context_busbw" && ring))
    return {"nccl_send_recv.busbw", "mpi_send_recv.busbw"};
  if (id == "network.expert_busbw" || id == "network.context_busbw")
    return {"nccl_all_to_all.busbw", "mpi_all_to_all.busbw"};
  if (id == "network.node_bandwidth") return {"nccl_all_reduce.node_busbw", "mpi_all_reduce.node_busbw"};
  if (id == "network.nic_bandwidth") return {"rdma_write.nic_bandwidth", "tcp_stream.nic_bandwidth"};
  if (id == "network.nics") return {"network_ports.nics"};
  return {};
}

/// Reads that memory must not have answered.
bool needs_cold(std::string_view id) {
  return id == "ingest.sample_rate" || id == "ingest.read_bandwidth" || id == "ingest.read_iops" ||
         id == "ingest.open_rate" || id == "ingest.metadata_rate" || id == "checkpoint.restore_bandwidth";
}

NeedList list_needs(const Job& job, bool texts) {
  NeedList list(job, texts);
  const Basis basis(job);
  add_ingest_needs(job, basis, list);
  add_host_needs(job, basis, list);
  add_checkpoint_needs(job, list);
  add_network_needs(job, list);
  add_local_cache_needs(job, basis, list);
  add_object_store_needs(job, basis, list);
  add_model_parallel_needs(job, list);
  add_fabric_needs(job, list);
  add_goodput_needs(job, basis, list);
  add_cost_needs(job, list);
  return list;
}

}  // namespace

std::uint64_t JobCollective::message_size() const {
  constexpr double kMost = 8589934588.0, kFloat = 4;  // what MPI counts to
  return static_cast<std::uint64_t>(std::clamp(std::round(message / kFloat) * kFloat, 2 * kFloat, kMost));
}

Basis::Basis(const Job& job)
    : sample_rate([&] {
        const Derivation batch("A2", {{"gpus_count", job.cluster.gpus()},
                                      {"tensor_parallel_count", job.parallelism.tensor},
                                      {"pipeline_parallel_count", job.parallelism.pipeline},
                                      {"context_parallel_count", job.parallelism.context},
                                      {"micro_batch_samples_count", job.step.micro_batch},
                                      {"grad_accum_count", job.step.accumulation}});
        return Derivation("A1", {{"global_batch_samples_count", batch.value()}, {"step_time_s", job.step.time}})
            .of("global_batch_samples_count", batch);
      }()),
      read_bandwidth(read_bandwidth_of(job, sample_rate.value(), 0)) {}

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::cluster:
      return "cluster";
    case Scope::node:
      return "node";
    case Scope::gpu:
      return "gpu";
  }
  return "";
}

std::vector<Need> derive_needs(const Job& job) {
  std::vector<Need> needs = list_needs(job, true).take();
  for (Need& need : needs) {
    need.measured_by = measured_by(need.id, need.scope, job);
    // It reads the files meanwhile, and counts two calls for each.
    if (need.id == "ingest.metadata_rate") need.lower_bounds = {"small_file_read.metadata_rate"};
    need.informative = need.measured_by.empty();
    if (needs_cold(need.id)) need.cache = "cold";
  }
  add_uncertainty(job, needs);
  return needs;
}

std::vector<Need> derive_need_values(const Job& job) { return list_needs(job, false).take(); }

std::vector<LockedNeed> locked_needs(const Job& job) { return list_needs(job, false).take_locked(); }

}  // namespace headrace::requirements
