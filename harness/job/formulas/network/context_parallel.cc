// Traffic of long sequences that are split over ranks (F15-F17).
#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// F15: V = n_r * 2 * b * (s / c) * h_kv * beta * (c - 1) [B]. Ring attention, one layer: K and V
/// go round.
double ring_attention_wire_bytes_per_layer(double batch, double sequence, double kv_hidden, double element,
                                           double context, double kv_rounds) {
  return kv_rounds * 2 * batch * (sequence / context) * kv_hidden * element * (context - 1);
}
const Define<ring_attention_wire_bytes_per_layer> f15{{
    .id = "F15",
    .name = "ring_attention_wire_bytes_per_layer",
    .title = "Ring attention traffic, per layer",
    .equation = "n_r * 2 * b * (s / c) * h_kv * beta * (c - 1)",
    .unit = "B",
    .validity = "n_r = 1 forward, 3 forward and backward (K and V again, and their gradients).",
    .source = "RING; derived",
    .inputs = {{"batch_count", "b"},
               {"sequence_count", "s"},
               {"kv_hidden_count", "h_kv"},
               {"element_bytes", "beta"},
               Input("context_parallel_count", "c").whole(),
               Input("kv_rounds_count", "n_r").otherwise(3)},
    .example = "batch_count=1 sequence_count=131072 kv_hidden_count=1024 element_bytes=2B "
               "context_parallel_count=16",
}};

/// F16: l = (causal ? 2 : 1) * (h_kv / h) * beta * F / (2 * B) [count]. Tokens per rank at which
/// computing a block takes as long as passing it on.
double ring_attention_min_block_tokens(double kv_hidden, double hidden, double element, double achieved_flop,
                                       double link, bool causal) {
  return (causal ? 2 : 1) * (kv_hidden / hidden) * element * achieved_flop / (2 * link);
}
const Define<ring_attention_min_block_tokens> f16{{
    .id = "F16",
    .name = "ring_attention_min_block_tokens",
    .title = "Context block that hides its transfer",
    .equation = "(causal ? 2 : 1) * (h_kv / h) * beta * F / (2 * B)",
    .unit = "count",
    .validity = "Tokens per rank; F is the achieved compute rate.",
    .source = "RING",
    .inputs = {{"kv_hidden_count", "h_kv"},
               Input("hidden_count", "h").above(0),
               {"element_bytes", "beta"},
               {"achieved_flop_per_s", "F"},
               Input("link_bytes_per_s", "B").above(0),
               Input("causal", "causal")},
    .example = "kv_hidden_count=1024 hidden_count=16384 element_bytes=2B achieved_flop_per_s=400TFLOP/s "
               "link_bytes_per_s=50GB/s causal=true",
}};

/// F17: V = n_p * b * (s / p) * (2 * h + 2 * h_kv) * beta * (p - 1) / p [B]. Ulysses, one layer:
/// all-to-all on Q, K, V and the output.
double ulysses_wire_bytes_per_layer(double batch, double sequence, double hidden, double kv_hidden, double element,
                                    double ranks, double passes) {
  return passes * batch * (sequence / ranks) * (2 * hidden + 2 * kv_hidden) * element * (ranks - 1) / ranks;
}
const Define<ulysses_wire_bytes_per_layer> f17{{
    .id = "F17",
    .name = "ulysses_wire_bytes_per_layer",
    .title = "Ulysses traffic, per layer",
    .equation = "n_p * b * (s / p) * (2 * h + 2 * h_kv) * beta * (p - 1) / p",
    .unit = "B",
    .validity = "n_p = 2 for forward and backward.",
    .source = "ULY section 3.2",
    .inputs = {{"batch_count", "b"},
               {"sequence_count", "s"},
               {"hidden_count", "h"},
               {"kv_hidden_count", "h_kv"},
               {"element_bytes", "beta"},
               Input("sequence_parallel_count", "p").whole(),
               Input("passes_count", "n_p").otherwise(2)},
    .example = "batch_count=1 sequence_count=131072 hidden_count=8192 kv_hidden_count=1024 "
               "element_bytes=2B "
               "sequence_parallel_count=8",
}};

}  // namespace
}  // namespace headrace::job
