// The needs of spreading one replica over GPUs for the links between them: tensor, pipeline, context, expert
// parallelism.
#include <cmath>

#include "harness/job/need_list.h"

namespace headrace::job {
namespace {

/// Bytes of all layers of a stage and all micro-batches of a step, from those of one layer and
/// micro-batch.
Derivation per_step(const Job& job, const Derivation& layer) {
  return Derivation("F10", {{"layer_wire_bytes", layer.value()},
                            {"layers_per_stage_count", *job.model.layers / job.parallelism.pipeline},
                            {"micro_batches_count", job.step.accumulation}})
      .of("layer_wire_bytes", layer);
}

/// The rate at which a step's traffic fits into `hidden` * step plus `exposed` * step.
Derivation rate(const Job& job, const Derivation& traffic, double hidden, double exposed) {
  return Derivation("F18", {{"wire_bytes", traffic.value()},
                            {"overlap_window_s", job.step.time},
                            {"overlap_ratio", hidden},
                            {"exposed_budget_s", exposed * job.step.time}})
      .of("wire_bytes", traffic);
}

/// Bytes of the activations of one micro-batch between two layers, on one rank of its context.
double activation_bytes(const Job& job) {
  return job.step.micro_batch * *job.model.sequence_length / job.parallelism.context * *job.model.hidden *
         job.model.activation_bytes;
}

/// A need whose traffic goes in such calls.
void add_rate(NeedList& needs, std::string_view id, const Derivation& rate, JobCollective calls, double wire,
              double hidden_s, double times = 1) {
  calls.wire = wire;
  calls.hidden_s = hidden_s;
  calls.times = times;
  needs.add(id, Scope::gpu, rate).collective = calls;
}

void add_tensor(const Job& job, NeedList& needs) {
  if (job.parallelism.tensor <= 1 || !needs.have({"network.tensor_traffic", "network.tensor_busbw"},
                                                 {"model.layers", "model.hidden", "model.sequence_length"}))
    return;
  const Derivation step =
      per_step(job, Derivation("F9", {{"micro_batch_count", job.step.micro_batch},
                                      {"sequence_count", *job.model.sequence_length / job.parallelism.context},
                                      {"hidden_count", *job.model.hidden},
                                      {"element_bytes", job.model.activation_bytes},
                                      {"tensor_parallel_count", job.parallelism.tensor}}));
  needs.add("network.tensor_traffic", Scope::gpu, step);
  add_call_times(job, needs, collective_of(job, activation_bytes(job), job.parallelism.tensor, 1),
                 "network.tensor_call_least", "network.tensor_call_most");
  // Rarely overlapped: without a measurement it all shows.
  if (needs.have({"network.tensor_busbw"}, {"parallelism.tensor_time"}))
    add_rate(needs, "network.tensor_busbw", rate(job, step, 0, *job.parallelism.tensor_time),
             collective_of(job, activation_bytes(job), job.parallelism.tensor, 1), step.value(), 0);
}

void add_pipeline(const Job& job, NeedList& needs) {
  const Job::Parallelism& p = job.parallelism;
  if (p.pipeline <= 1) return;
  const Derivation bubble("F12", {{"pipeline_parallel_count", p.pipeline},
                                  {"micro_batches_count", job.step.accumulation},
                                  {"chunks_count", p.virtual_stages}});
  needs.add("step.pipeline_bubble", Scope::cluster, bubble);
  if (!needs.have({"network.pipeline_traffic", "network.pipeline_bandwidth"},
                  {"model.hidden", "model.sequence_length"}))
    return;
  const auto traffic = [&](double micro_batches, double chunks) {
    return Derivation("F11", {{"micro_batch_count", job.step.micro_batch},
                              {"sequence_count", *job.model.sequence_length / p.context},
                              {"hidden_count", *job.model.hidden},
                              {"element_bytes", job.model.activation_bytes},
                              {"micro_batches_count", micro_batches},
                              {"chunks_count", chunks}});
  };
  needs.add("network.pipeline_traffic", Scope::gpu, traffic(job.step.accumulation, p.virtual_stages));
  // One micro-batch passes on while the next is computed: the step holds m * v + p - 1 such times.
  const double chunk_time = job.step.time / (job.step.accumulation * p.virtual_stages + p.pipeline - 1);
  const Derivation one = traffic(1, 1);
  add_rate(needs, "network.pipeline_bandwidth",
           Derivation("F18", {{"wire_bytes", one.value()}, {"overlap_window_s", chunk_time}, {"overlap_ratio", 1}})
               .of("wire_bytes", one),
           collective_of(job, one.value(), p.pipeline, p.tensor * p.context * job.replicas()), one.value(), chunk_time,
           job.step.accumulation * p.virtual_stages);
}

void add_context(const Job& job, NeedList& needs) {
  const Job::Parallelism& p = job.parallelism;
  if (p.context <= 1 || !needs.have({"network.context_traffic", "network.context_busbw"},
                                    {"model.layers", "model.hidden", "model.sequence_length"}))
    return;
  const Job::Model& m = job.model;
  const double kv_hidden = m.heads && m.kv_heads ? std::floor(*m.hidden / *m.heads) * *m.kv_heads : *m.hidden;
  const NamedValue batch{"batch_count", job.step.micro_batch}, sequence{"sequence_count", *m.sequence_length},
      kv{"kv_hidden_count", kv_hidden}, element{"element_bytes", m.activation_bytes};
  const Derivation step = per_step(
      job,
      p.context_method == ContextMethod::ring
          ? Derivation("F15", {batch, sequence, kv, element, {"context_parallel_count", p.context}})
          : Derivation(
                "F17",
                {batch, sequence, {"hidden_count", *m.hidden}, kv, element, {"sequence_parallel_count", p.context}}));
  needs.add("network.context_traffic", Scope::gpu, step);
  if (p.overlap + p.exposed > 0)
    // Keys and values of one block travel together; or queries, keys, values and outputs one after
    // the other: their mean.
    add_rate(needs, "network.context_busbw", rate(job, step, p.overlap, p.exposed),
             collective_of(job,
                           activation_bytes(job) / *m.hidden *
                               (p.context_method == ContextMethod::ring ? 2 * kv_hidden : (*m.hidden + kv_hidden) / 2),
                           p.context, p.tensor),
             step.value(), p.overlap * job.step.time);
  if (p.context_method == ContextMethod::ring &&
      needs.have({"network.context_block"}, {"cluster.gpu_flops", "step.mfu", "cluster.nic_rate"}))
    needs.add("network.context_block", Scope::gpu,
              Derivation("F16", {kv,
                                 {"hidden_count", *m.hidden},
                                 element,
                                 {"achieved_flop_per_s", *job.cluster.gpu_flops * *job.step.mfu},
                                 {"link_bytes_per_s", *job.cluster.nic_rate},
                                 {"causal", 1}}));
}

void add_expert(const Job& job, NeedList& needs) {
  const Job::Parallelism& p = job.parallelism;
  if (p.expert <= 1 || !needs.have({"network.expert_traffic", "network.expert_busbw"},
                                   {"model.layers", "model.hidden", "model.sequence_length", "model.top_k"}))
    return;
  const double tokens = job.step.micro_batch * *job.model.sequence_length / p.context;
  const Derivation step = per_step(job, Derivation("F13", {{"tokens_count", tokens},
                                                           {"top_k_count", *job.model.top_k},
                                                           {"hidden_count", *job.model.hidden},
                                                           {"dispatch_element_bytes", job.model.activation_bytes},
                                                           {"combine_element_bytes", job.model.activation_bytes},
                                                           {"expert_parallel_count", p.expert}}));
  needs.add("network.expert_traffic", Scope::gpu, step);
  if (needs.have({"network.expert_busbw"}, {"parallelism.expert_time"}))
    add_rate(needs, "network.expert_busbw", rate(job, step, 0, *p.expert_time),
             collective_of(job, activation_bytes(job) * *job.model.top_k, p.expert, p.tensor), step.value(), 0);
  const double nodes = std::ceil(p.expert / job.cluster.gpus_per_node);
  if (nodes > 1)
    needs.add("network.expert_remote_nodes", Scope::gpu,
              Derivation("F14", {{"top_k_count", *job.model.top_k},
                                 {"nodes_count", nodes},
                                 {"node_limit_count", p.expert_nodes.value_or(nodes)}}));
}

}  // namespace

void add_model_parallel_needs(const Job& job, NeedList& needs) {
  add_tensor(job, needs);
  add_pipeline(job, needs);
  add_context(job, needs);
  add_expert(job, needs);
}

}  // namespace headrace::job
