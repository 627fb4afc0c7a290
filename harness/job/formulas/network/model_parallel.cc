// Traffic of tensor, pipeline and expert parallelism (F9-F14).
#include <algorithm>
#include <cmath>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// F9: V = n_ar * 2 * (t - 1) / t * b * s * h * beta [B]. Tensor parallelism, one layer, one
/// micro-batch.
double tp_wire_bytes_per_layer(double micro_batch, double sequence, double hidden, double element, double tensor,
                               double all_reduces) {
  return all_reduces * 2 * (tensor - 1) / tensor * micro_batch * sequence * hidden * element;
}
const Define<tp_wire_bytes_per_layer> f9{{
    .id = "F9",
    .name = "tp_wire_bytes_per_layer",
    .title = "Tensor parallel traffic, per layer",
    .equation = "n_ar * 2 * (t - 1) / t * b * s * h * beta",
    .unit = "B",
    .validity = "Four all-reduces (two forward, two backward), six with full recomputation; "
                "sequence parallelism moves "
                "the same bytes as all-gather and reduce-scatter.",
    .source = "MEG21 section 3.2; MEG22 section 4.2",
    .inputs = {{"micro_batch_count", "b"},
               {"sequence_count", "s"},
               {"hidden_count", "h"},
               {"element_bytes", "beta"},
               Input("tensor_parallel_count", "t").whole(),
               Input("all_reduces_count", "n_ar").otherwise(4)},
    .example = "micro_batch_count=1 sequence_count=4096 hidden_count=8192 element_bytes=2B "
               "tensor_parallel_count=8",
}};

/// F10: V_l * L * m [B]. Tensor parallelism, one step: L layers of the stage, m micro-batches.
double tp_wire_bytes_per_step(double layer_wire, double layers, double micro_batches) {
  return layer_wire * layers * micro_batches;
}
const Define<tp_wire_bytes_per_step> f10{{
    .id = "F10",
    .name = "tp_wire_bytes_per_step",
    .title = "Tensor parallel traffic, per step",
    .equation = "V_l * L * m",
    .unit = "B",
    .validity = "Per rank; sensitive to latency and rarely overlapped.",
    .source = "MEG21",
    .inputs = {{"layer_wire_bytes", "V_l"}, {"layers_per_stage_count", "L"}, {"micro_batches_count", "m"}},
    .example = "layer_wire_bytes=469762048B layers_per_stage_count=80 micro_batches_count=16",
}};

/// F11: V = b * s * h * beta * m * v / k [B]. Pipeline stage to stage, one direction, one step.
double pp_wire_bytes_per_direction(double micro_batch, double sequence, double hidden, double element,
                                   double micro_batches, double chunks, double scatter) {
  return micro_batch * sequence * hidden * element * micro_batches * chunks / scatter;
}
const Define<pp_wire_bytes_per_direction> f11{{
    .id = "F11",
    .name = "pp_wire_bytes_per_direction",
    .title = "Pipeline traffic, per direction",
    .equation = "b * s * h * beta * m * v / k",
    .unit = "B",
    .validity = "m micro-batches, v virtual chunks; k = tensor degree with the scatter/gather "
                "optimization.",
    .source = "MEG21 section 3.2",
    .inputs = {{"micro_batch_count", "b"},
               {"sequence_count", "s"},
               {"hidden_count", "h"},
               {"element_bytes", "beta"},
               {"micro_batches_count", "m"},
               Input("chunks_count", "v").otherwise(1),
               Input("scatter_count", "k").whole().otherwise(1)},
    .example = "micro_batch_count=1 sequence_count=8192 hidden_count=16384 element_bytes=2B "
               "micro_batches_count=16 "
               "scatter_count=8",
}};

/// F12: x = (p - 1) / (v * m) [ratio]. Idle time of the pipeline over ideal compute time.
double pp_bubble(double pipeline, double micro_batches, double chunks) {
  return (pipeline - 1) / (chunks * micro_batches);
}
const Define<pp_bubble> f12{{
    .id = "F12",
    .name = "pp_bubble",
    .title = "Pipeline bubble",
    .equation = "(p - 1) / (v * m)",
    .unit = "ratio",
    .validity = "Relative to ideal compute time; v virtual chunks per device.",
    .source = "MEG21 section 2.2",
    .inputs = {Input("pipeline_parallel_count", "p").whole(), Input("micro_batches_count", "m").above(0),
               Input("chunks_count", "v").above(0).otherwise(1)},
    .example = "pipeline_parallel_count=4 micro_batches_count=32",
}};

/// F13: V = n_p * T * k * h * (d + c) * (e - 1) / e [B]. Expert dispatch (d B per element) and
/// combine (c B), one layer.
double ep_wire_bytes_per_layer(double tokens, double top_k, double hidden, double dispatch, double combine,
                               double expert, double passes) {
  return passes * tokens * top_k * hidden * (dispatch + combine) * (expert - 1) / expert;
}
const Define<ep_wire_bytes_per_layer> f13{{
    .id = "F13",
    .name = "ep_wire_bytes_per_layer",
    .title = "Expert all-to-all traffic, per layer",
    .equation = "n_p * T * k * h * (d + c) * (e - 1) / e",
    .unit = "B",
    .validity = "n_p = 2 for forward and backward; uniform routing, no deduplication.",
    .source = "DEEPEP; derived",
    .inputs = {{"tokens_count", "T"},
               {"top_k_count", "k"},
               {"hidden_count", "h"},
               {"dispatch_element_bytes", "d"},
               {"combine_element_bytes", "c"},
               Input("expert_parallel_count", "e").whole(),
               Input("passes_count", "n_p").otherwise(2)},
    .example = "tokens_count=4096 top_k_count=8 hidden_count=7168 dispatch_element_bytes=1B "
               "combine_element_bytes=2B "
               "expert_parallel_count=64",
}};

/// F14: x = min(N * (1 - (1 - 1 / N)^k), M) * (N - 1) / N [ratio]. Nodes other than its own that a
/// token is sent to.
double ep_remote_nodes_expected(double top_k, double nodes, double node_limit) {
  return std::min(nodes * (1 - std::pow(1 - 1 / nodes, top_k)), node_limit) * (nodes - 1) / nodes;
}
const Define<ep_remote_nodes_expected> f14{{
    .id = "F14",
    .name = "ep_remote_nodes_expected",
    .title = "Remote nodes per token",
    .equation = "min(N * (1 - (1 - 1 / N)^k), M) * (N - 1) / N",
    .unit = "ratio",
    .validity = "Uniform routing limited to M nodes; traffic between nodes is n_p * T * x * h * (d "
                "+ c) when a token is "
                "sent once per node.",
    .source = "derived",
    .inputs = {{"top_k_count", "k"}, Input("nodes_count", "N").whole(), {"node_limit_count", "M"}},
    .example = "top_k_count=8 nodes_count=8 node_limit_count=4",
}};

}  // namespace
}  // namespace headrace::job
