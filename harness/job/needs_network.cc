// What keeping the replicas equal asks of the network, its NICs and its switches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/job/all_reduce_interval.h"
#include "harness/job/need_list.h"

namespace headrace::job {
namespace {

/// The places of the ranks that share gradients: neighbours are first tensor-parallel, then replicas.
struct GradientGroups {
  double ranks;     // of one group
  double per_node;  // groups that a node takes part in
  double in_node;   // ranks of one group on one node
  bool leave_node() const { return ranks > in_node; }

  explicit GradientGroups(const Job& job)
      : ranks(job.replicas() * job.parallelism.context),
        per_node(1),
        in_node(std::min(ranks, std::max(1.0, std::floor(job.cluster.gpus_per_node / job.parallelism.tensor)))) {
    per_node = job.cluster.gpus_per_node / in_node;
  }
};

}  // namespace

Derivation gradient_bytes_of(const Job& job, double ranks) {
  const double local_params = *job.model.parameters / (job.parallelism.tensor * job.parallelism.pipeline);
  const NamedValue params{"local_params_count", local_params}, gradients{"gradient_bytes", job.model.gradient_bytes},
      weights{"weight_bytes", job.model.weight_bytes}, n{"ranks_count", ranks};
  switch (job.parallelism.sharding) {
    case Sharding::none:
      return Derivation("F6", {params, gradients, n});
    case Sharding::zero1:
    case Sharding::zero2:
      return Derivation("F7", {params, gradients, weights, n});
    case Sharding::zero3:
      break;
  }
  return Derivation("F8", {params,
                           gradients,
                           weights,
                           n,
                           {"all_gathers_count", 2 * job.step.accumulation},
                           {"reduce_scatters_count", job.step.accumulation}});
}

Derivation gradient_busbw_of(const Job& job, double ranks) {
  const Derivation wire = gradient_bytes_of(job, ranks);
  return Derivation("F18", {{"wire_bytes", wire.value()},
                            {"overlap_window_s", job.parallelism.window * job.step.time},
                            {"overlap_ratio", job.parallelism.overlap},
                            {"exposed_budget_s", job.parallelism.exposed * job.step.time}})
      .of("wire_bytes", wire);
}

JobCollective collective_of(const Job& job, double message, double ranks, double stride) {
  const double in_node = std::min(ranks, std::max(1.0, std::floor(job.cluster.gpus_per_node / stride)));
  return {.message = message, .ranks = ranks, .stride = stride, .nodes = std::ceil(ranks / in_node)};
}

JobCollective gradient_collective_of(const Job& job, double ranks) {
  const double gradients =
      *job.model.parameters / (job.parallelism.tensor * job.parallelism.pipeline) * job.model.gradient_bytes;
  JobCollective c = collective_of(job, std::min(job.parallelism.bucket, gradients), ranks, job.parallelism.tensor);
  c.wire = gradient_bytes_of(job, ranks).value();
  c.hidden_s = job.parallelism.overlap * job.parallelism.window * job.step.time;
  return c;
}

namespace {

/// As F28 orders them; the job's values alone have it.
double generation_of(const Job& job) {
  const std::string& word = job.values.at("fabric.gpu_generation");
  return word == "ampere" ? 0 : word == "hopper" ? 1 : 2;
}

}  // namespace

void add_call_times(const Job& job, NeedList& needs, const JobCollective& calls, std::string_view least,
                    std::string_view most) {
  if (!needs.have({least, most}, {"fabric.gpu_generation", "fabric.intra_busbw"})) return;
  const bool leaves = calls.nodes > 1;
  if (leaves && !needs.have({least, most}, {"cluster.nics_per_node", "cluster.nic_rate"})) return;
  const double in_node = calls.ranks / calls.nodes;
  if (in_node != std::floor(in_node)) return;  // F28 has nodes that are alike
  const Job::Fabric& fabric = *job.fabric;
  const double crossing = std::max(1.0, fabric.crossing * fabric.oversubscription);
  const AllReduceInterval time = all_reduce_interval(
      {.ranks = calls.ranks,
       .nodes = calls.nodes,
       .generation = generation_of(job),
       .intra = *fabric.intra_busbw,
       .network = leaves ? *job.cluster.nics_per_node * std::min(1.0, in_node / job.cluster.gpus_per_node) *
                               *job.cluster.nic_rate * fabric.nic_efficiency / crossing
                         : 0},
      calls.message);
  needs.add(least, Scope::gpu, Derivation(time.fastest)).collective = calls;
  needs.add(most, Scope::gpu, Derivation(time.slowest)).collective = calls;
}

void add_network_needs(const Job& job, NeedList& needs) {
  const GradientGroups groups(job);
  if (groups.ranks <= 1 || !needs.have({"network.gradient_busbw"}, {"model.parameters"})) return;
  needs.add("network.gradient_busbw", Scope::gpu, gradient_busbw_of(job, groups.ranks)).collective =
      gradient_collective_of(job, groups.ranks);
}

void add_fabric_needs(const Job& job, NeedList& needs) {
  const GradientGroups groups(job);
  if (groups.ranks > 1 &&
      needs.have({"network.gradient_call_least", "network.gradient_call_most"}, {"model.parameters"}))
    add_call_times(job, needs, gradient_collective_of(job, groups.ranks), "network.gradient_call_least",
                   "network.gradient_call_most");
  if (!groups.leave_node() || !needs.have({"network.node_bandwidth"}, {"model.parameters"})) return;
  // A ring passes each node once, so a group's bus bandwidth leaves the node once, for any ranks on it.
  const Derivation busbw = gradient_busbw_of(job, groups.ranks);
  needs.add("network.node_bandwidth", Scope::node, busbw, {groups.per_node, "groups_per_node", true}).collective =
      gradient_collective_of(job, groups.ranks);
  const double node_rate = busbw.value() * groups.per_node;
  const Job::Fabric fabric = job.fabric.value_or(Job::Fabric{});
  const double crossing = std::max(1.0, fabric.crossing * fabric.oversubscription);

  if (needs.have({"network.nic_bandwidth"}, {"cluster.nics_per_node"})) {
    const double nics = *job.cluster.nics_per_node;
    Explanation why;
    if (needs.texts())
      why = {"F21",
             "W / k * max(1, x * o)",
             "node bytes/s / nics per node * max(1, cross spine * oversubscription)",
             fmt::format("{} / {} * max(1, {} * {})", compact_quantity(node_rate, Dimension::bytes_per_second), nics,
                         fabric.crossing, fabric.oversubscription),
             {{"node_bytes_per_s", node_rate},
              {"nics_per_node_count", nics},
              {"cross_spine_ratio", fabric.crossing},
              {"oversubscription_ratio", fabric.oversubscription}}};
    needs.add("network.nic_bandwidth", Scope::node, node_rate / nics * crossing, "B/s", std::move(why));
  }
  if (needs.have({"network.nics"}, {"cluster.nic_rate"})) {
    const auto ports = [&](double traffic) {
      return Derivation("F22", {{"node_bytes_per_s", traffic * node_rate * crossing},
                                {"line_rate_bits_per_s", *job.cluster.nic_rate * 8},
                                {"efficiency_ratio", fabric.nic_efficiency}});
    };
    Need& nics = needs.add("network.nics", Scope::node, ports(1));
    nics.need = ports(job.safety).value();  // the margin is on the traffic: there is no fifth of a port
    nics.measured_with = {{"nic_rate", "cluster.nic_rate", *job.cluster.nic_rate}};
  }

  if (needs.have({"network.allreduce_time", "network.allreduce_two_level_time"},
                 {"cluster.nics_per_node", "cluster.nic_rate", "fabric.intra_busbw"})) {
    const double message =
        *job.model.parameters / (job.parallelism.tensor * job.parallelism.pipeline) * job.model.gradient_bytes;
    const double nic = *job.cluster.nic_rate * fabric.nic_efficiency / crossing;
    const double nics = std::max(1.0, std::floor(*job.cluster.nics_per_node / groups.per_node));
    needs.add("network.allreduce_time", Scope::gpu,
              Derivation("F20", {{"message_bytes", message},
                                 {"ranks_count", groups.ranks},
                                 {"nics_per_node_count", nics},
                                 {"intra_busbw_bytes_per_s", *fabric.intra_busbw},
                                 {"nic_bytes_per_s", nic}}));
    needs.add("network.allreduce_two_level_time", Scope::gpu,
              Derivation("F19", {{"message_bytes", message},
                                 {"gpus_per_node_count", groups.in_node},
                                 {"nodes_count", std::ceil(groups.ranks / groups.in_node)},
                                 {"intra_busbw_bytes_per_s", *fabric.intra_busbw},
                                 {"nic_per_gpu_bytes_per_s", nic * nics / groups.in_node}}));
  }
  if (needs.have({"network.leaf_switches"}, {"cluster.nics_per_node", "fabric.switch_ports"}))
    needs.add("network.leaf_switches", Scope::cluster,
              Derivation("F24", {{"endpoints_count", job.cluster.nodes * *job.cluster.nics_per_node},
                                 {"switch_ports_count", *fabric.switch_ports},
                                 {"oversubscription_ratio", fabric.oversubscription}}));
  if (needs.have({"network.fat_tree_endpoints"}, {"fabric.switch_ports", "fabric.tiers"}))
    needs.add("network.fat_tree_endpoints", Scope::cluster,
              Derivation("F23", {{"switch_ports_count", *fabric.switch_ports}, {"tiers_count", *fabric.tiers}}));
}

}  // namespace headrace::job
