// The table of needs.
#include "harness/job/need_kinds.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/job/job.h"
#include "harness/job/needs.h"

namespace headrace::job {
namespace {

using When = Measure::When;

constexpr std::string_view kCold = "cold";

constexpr std::string_view kSlowReads =
    "check read-ahead, scheduler and mount options with headrace doctor. headrace size lists upgrades that feed more "
    "GPUs. RAM as large as the data set helps from epoch 2 on";
constexpr std::string_view kSlowSaves = "save asynchronously, less often, or from more writers; then measure again";

std::vector<NeedKind> ingest() {
  return {{.id = "ingest.sample_rate",
           .name = "Samples read",
           .measured_by = {{"small_file_read.sample_rate", When::files},
                           {"random_read.sample_rate", When::indexed},
                           {"shard_stream.sample_rate", When::shards},
                           {"random_read.sample_rate", When::tokens}},
           .cache = kCold,
           .mend = kSlowReads},
          {.id = "ingest.read_bandwidth",
           .name = "Bytes read",
           .measured_by = {{"small_file_read.read_bandwidth", When::files},
                           {"random_read.read_bandwidth", When::indexed},
                           {"shard_stream.read_bandwidth", When::shards},
                           {"random_read.read_bandwidth", When::tokens}},
           .cache = kCold,
           .mend = kSlowReads,
           .phase = {"cold_epoch", "Cold epoch", true, true}},
          {.id = "ingest.steady_read_bandwidth",
           .name = "Later epochs",
           .measured_by = {{"epochs.steady_storage_bandwidth"}},
           .mend = kSlowReads,
           .phase = {"steady_epoch", "Later epochs", true, true}},
          {.id = "ingest.read_iops",
           .name = "Read calls",
           .measured_by = {{"random_read.read_iops", When::no_files}, {"small_file_read.read_iops", When::files}},
           .cache = kCold,
           .mend = kSlowReads},
          {.id = "ingest.open_rate",
           .name = "Files opened",
           .measured_by = {{.metric = "small_file_read.open_rate", .of_names = true},
                           {"metadata.open_rate", When::no_files}},
           .cache = kCold,
           .mend = kSlowReads},
          {.id = "ingest.metadata_rate",
           .name = "Names looked up",
           // The second also reads the files, and counts two calls for each.
           .measured_by = {{"metadata.operation_rate"},
                           {.metric = "small_file_read.metadata_rate", .lower_bound = true, .of_names = true}},
           .cache = kCold,
           .mend = kSlowReads,
           .phase = {"metadata", "Opening files", true, true}},
          {.id = "ingest.epoch_time"},
          {.id = "ingest.token_rate"},
          {.id = "dataset.shard_size_min"},
          {.id = "dataset.shard_size_max"},
          {.id = "local_cache.storage_bandwidth"},
          {.id = "local_cache.read_bandwidth", .owner = Owner::node},
          {.id = "local_cache.fill_time", .owner = Owner::node},
          {.id = "object_store.concurrency"},
          {.id = "object_store.request_rate",
           .name = "Requests to the object store",
           .measured_by = {{"small_file_read.read_iops", When::objects},
                           {"shard_stream.read_iops", When::objects},
                           {"random_read.read_iops", When::objects}},
           .cache = kCold,
           .mend = "more requests in flight (loader workers, or queue_depth of each), larger objects or ranges, or, "
                   "where the store throttles, more prefixes; then measure again"},
          {.id = "object_store.prefixes"},
          {.id = "object_store.connections"},
          {.id = "object_store.part_size"},
          {.id = "storage.shared_bandwidth"}};
}

std::vector<NeedKind> checkpoint() {
  return {{.id = "checkpoint.size"},
          {.id = "checkpoint.largest_shard"},
          {.id = "checkpoint.write_bandwidth",
           .name = "Checkpoint saves",
           .measured_by = {{"checkpoint_write.durable_bandwidth"}},
           .mend = kSlowSaves,
           .phase = {"checkpoint_save", "Checkpoint save", false, false}},
          {.id = "checkpoint.restore_bandwidth",
           .name = "Checkpoint restores",
           .measured_by = {{"checkpoint_read.read_bandwidth"}},
           .cache = kCold,
           .mend = "read the weights once and send them on (checkpoint.weight_readers: 1), keep the newest "
                   "checkpoint on local disks, or allow a longer restore; then measure again",
           .phase = {"checkpoint_restore", "Checkpoint restore", false, false}},
          {.id = "checkpoint.capacity",
           .name = "Room for checkpoints",
           .measured_by = {{"host_facts.free_space"}},
           .mend = kSlowSaves},
          {.id = "checkpoint.host_memory",
           .name = "Memory for checkpoints",
           .measured_by = {{"host_facts.memory_available"}},
           .owner = Owner::node,
           .memory = true,
           .mend = kSlowSaves},
          {.id = "checkpoint.overhead"},
          {.id = "checkpoint.gpu_hours"},
          {.id = "checkpoint.bytes_written"},
          {.id = "checkpoint.young_interval"},
          {.id = "checkpoint.daly_interval"},
          {.id = "checkpoint.waste_write_bandwidth"},
          {.id = "goodput.useful_share"},
          {.id = "goodput.waste"}};
}

std::vector<NeedKind> host() {
  return {
      {.id = "host.cpu_cores",
       .name = "CPU cores",
       .measured_by = {{"host_facts.cpu_cores"}},
       .owner = Owner::node,
       .mend = "decode less per sample, move decoding to the GPU, or spread the job over more nodes"},
      {.id = "host.decode_rate",
       .name = "Samples decoded",
       .measured_by = {{"decode.image_rate"}},
       .owner = Owner::node,
       .mend = "more loader workers where there are cores for them, smaller stored images, decoding at a smaller "
               "scale or on the GPU, or more nodes"},
      {.id = "host.prefetch_memory",
       .name = "Prefetch memory",
       .measured_by = {{"host_facts.shared_memory_available", When::processes},
                       {"host_facts.memory_available", When::threads}},
       .owner = Owner::node,
       .memory = true,
       .mend = "fewer loader workers, a smaller prefetch_factor, or more memory. Workers that are processes pass "
               "batches on through /dev/shm: a container gets more by docker run --shm-size or --ipc=host, a pod by "
               "an emptyDir of medium Memory at /dev/shm"},
      {.id = "host.loader_processes",
       .name = "Loader processes",
       .measured_by = {{"host_facts.processes_available"}},
       .owner = Owner::node,
       .mend = "fewer loader workers, or a higher limit of processes: docker run --pids-limit, podPidsLimit of the "
               "kubelet, TasksMax of a systemd unit, ulimit -u"},
      {.id = "host.loader_files",
       .name = "Open files",
       .measured_by = {{"host_facts.open_files"}},
       .owner = Owner::node,
       .mend = "ulimit -n 65536 before the job starts, or fewer loader workers"},
      {.id = "host.memory_bandwidth",
       .name = "Memory bandwidth",
       .measured_by = {{"memory_copy.copy_bandwidth"}},
       .owner = Owner::node,
       .mend = "copy each sample less often (decode on the GPU, collate into pinned memory), fill "
               "every memory channel, or spread the job over more nodes",
       .phase = {"host_memory", "Host memory", true, true}},
      {.id = "loader.shuffle_memory",
       .name = "Shuffle buffer",
       .measured_by = {{"host_facts.memory_available"}},
       .owner = Owner::node,
       .memory = true},
      {.id = "loader.shuffle_window"}};
}

/// A GPU's own need is compared with the slowest GPU, the node's with all of them at once.
std::vector<NeedKind> gpu() {
  return {{.id = "gpu.h2d_bandwidth",
           .name = "Copies to the GPU",
           .measured_by = {{"h2d.bandwidth", When::of_gpu}, {"h2d.node_bandwidth", When::of_node}},
           .owner = Owner::gpu},
          {.id = "gpu.d2h_bandwidth",
           .name = "Copies from the GPU",
           .measured_by = {{"d2h.bandwidth", When::of_gpu}, {"d2h.node_bandwidth", When::of_node}},
           .owner = Owner::gpu}};
}

std::vector<NeedKind> network() {
  return {
      {.id = "network.gradient_busbw",
       .name = "Gradient all-reduce",
       .measured_by = {{"nccl_all_reduce.busbw"}, {"rdma_all_reduce.busbw"}, {"mpi_all_reduce.busbw"}},
       .owner = Owner::gpu},
      {.id = "network.tensor_busbw",
       .name = "Tensor-parallel collectives",
       .measured_by = {{"nccl_all_reduce.busbw"}, {"mpi_all_reduce.busbw"}},
       .owner = Owner::gpu},
      {.id = "network.pipeline_bandwidth",
       .name = "Pipeline transfers",
       .measured_by = {{"nccl_send_recv.busbw"}, {"mpi_send_recv.busbw"}},
       .owner = Owner::gpu},
      {.id = "network.context_busbw",
       .name = "Context-parallel transfers",
       .measured_by = {{"nccl_send_recv.busbw", When::ring},
                       {"mpi_send_recv.busbw", When::ring},
                       {"nccl_all_to_all.busbw", When::no_ring},
                       {"mpi_all_to_all.busbw", When::no_ring}},
       .owner = Owner::gpu},
      {.id = "network.expert_busbw",
       .name = "Expert all-to-all",
       .measured_by = {{"nccl_all_to_all.busbw"}, {"mpi_all_to_all.busbw"}},
       .owner = Owner::gpu},
      {.id = "network.node_bandwidth",
       .name = "Network of a node",
       .measured_by = {{"nccl_all_reduce.node_busbw"}, {"mpi_all_reduce.node_busbw"}},
       .owner = Owner::node},
      {.id = "network.nic_bandwidth",
       .name = "Network of a NIC",
       .measured_by = {{"rdma_write.nic_bandwidth"}, {"tcp_stream.nic_bandwidth"}},
       .owner = Owner::node,
       .worst_over = "schedule"},
      {.id = "network.nics", .name = "NICs", .measured_by = {{"network_ports.nics"}}, .owner = Owner::node},
      {.id = "network.tensor_traffic", .owner = Owner::gpu},
      {.id = "network.pipeline_traffic", .owner = Owner::gpu},
      {.id = "network.context_traffic", .owner = Owner::gpu},
      {.id = "network.context_block", .owner = Owner::gpu},
      {.id = "network.expert_traffic", .owner = Owner::gpu},
      {.id = "network.expert_remote_nodes", .owner = Owner::gpu},
      {.id = "network.gradient_call_least", .owner = Owner::gpu},
      {.id = "network.gradient_call_most", .owner = Owner::gpu},
      {.id = "network.tensor_call_least", .owner = Owner::gpu},
      {.id = "network.tensor_call_most", .owner = Owner::gpu},
      {.id = "network.allreduce_time", .owner = Owner::gpu},
      {.id = "network.allreduce_two_level_time", .owner = Owner::gpu},
      {.id = "network.leaf_switches"},
      {.id = "network.fat_tree_endpoints"},
  };
}

/// The needs of the whole job: its steps and its money.
std::vector<NeedKind> job() {
  return {{.id = "step.time"},
          {.id = "step.pipeline_bubble"},
          {.id = "cost.reclaimable"},
          {.id = "cost.starvation_rate"},
          {.id = "cost.starvation_total"},
          {.id = "cost.requests_per_epoch"},
          {.id = "cost.capacity"}};
}

bool holds(When when, Scope scope, const Job& job) {
  const Layout layout = job.dataset.layout;
  const bool ring = job.parallelism.context_method == ContextMethod::ring;
  switch (when) {
    case When::always:
      return true;
    case When::files:
      return layout == Layout::files;
    case When::shards:
      return layout == Layout::shards;
    case When::indexed:
      return layout == Layout::shards &&
             (job.dataset.read_profile == ReadProfile::mds || job.dataset.read_profile == ReadProfile::row_group);
    case When::tokens:
      return layout == Layout::tokens;
    case When::no_files:
      return layout != Layout::files;
    case When::objects:
      return is_object_path(job.dataset.path);
    case When::of_gpu:
      return scope == Scope::gpu;
    case When::of_node:
      return scope != Scope::gpu;
    case When::ring:
      return ring;
    case When::no_ring:
      return !ring;
    case When::processes:
      return loads_in_processes(job);
    case When::threads:
      return !loads_in_processes(job);
  }
  return false;
}

bool is_memory(std::string_view name) {
  return std::ranges::any_of(need_kinds(), [name](const NeedKind& kind) {
    return kind.memory && (kind.id == name || std::ranges::any_of(kind.measured_by, [name](const Measure& m) {
                             return m.metric == name;
                           }));
  });
}

}  // namespace

bool loads_in_processes(const Job& job) {
  const bool of_pytorch = job.loader.kind == LoaderKind::pytorch || job.loader.kind == LoaderKind::pytorch_iterable;
  return of_pytorch && job.loader.workers_per_gpu.value_or(1) > 0;
}

std::span<const NeedKind> need_kinds() {
  static const std::vector<NeedKind> kAll = [] {
    std::vector<NeedKind> all;
    for (std::vector<NeedKind> group : {ingest(), checkpoint(), host(), gpu(), network(), job()})
      for (NeedKind& kind : group) all.push_back(std::move(kind));
    return all;
  }();
  return kAll;
}

const NeedKind* find_need_kind(std::string_view id) {
  const auto all = need_kinds();
  const auto at = std::ranges::find(all, id, &NeedKind::id);
  return at == all.end() ? nullptr : &*at;
}

const NeedKind& need_kind(std::string_view id) {
  if (const NeedKind* kind = find_need_kind(id)) return *kind;
  std::fprintf(stderr, "%s: no row for the need %.*s\n", __FILE__, static_cast<int>(id.size()), id.data());
  std::abort();
}

std::vector<Measure> measures(const NeedKind& kind, Scope scope, const Job& job) {
  std::vector<Measure> all;
  for (const Measure& m : kind.measured_by)
    if (holds(m.when, scope, job)) all.push_back(m);
  return all;
}

bool is_of_names(std::string_view metric) {
  const auto is_it = [metric](const Measure& m) { return m.of_names && m.metric == metric; };
  return std::ranges::any_of(need_kinds(),
                             [&](const NeedKind& kind) { return std::ranges::any_of(kind.measured_by, is_it); });
}

std::string format_named(double value, std::string_view unit, std::string_view name) {
  if (unit == "B" && is_memory(name)) return format_quantity(value, Dimension::bytes, true);
  return format_in_unit(value, unit);
}

}  // namespace headrace::job
