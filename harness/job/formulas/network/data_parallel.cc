// Bytes that each rank sends per step to keep replicas equal (F6-F8). Volume / time compares with
// busbw.
#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// F6: V = 2 * (n - 1) / n * P * g [B]. All-reduce of the gradients of a rank's P parameters.
double dp_allreduce_wire_bytes(double local_params, double gradient_bytes, double ranks) {
  return 2 * (ranks - 1) / ranks * local_params * gradient_bytes;
}
const Define<dp_allreduce_wire_bytes> f6{{
    .id = "F6",
    .name = "dp_allreduce_wire_bytes",
    .title = "Data-parallel all-reduce",
    .equation = "2 * (n - 1) / n * P * g",
    .unit = "B",
    .validity = "Bytes that each rank sends; P is the rank's share of the model.",
    .source = "NCCL-T; ZERO section 7",
    .inputs = {{"local_params_count", "P"}, {"gradient_bytes", "g"}, Input("ranks_count", "n").whole()},
    .example = "local_params_count=7e9 gradient_bytes=2B ranks_count=64",
}};

/// F7: V = (n - 1) / n * P * (g + w) [B]. Reduce-scatter of gradients, all-gather of weights.
double zero12_wire_bytes(double local_params, double gradient_bytes, double weight_bytes, double ranks) {
  return (ranks - 1) / ranks * local_params * (gradient_bytes + weight_bytes);
}
const Define<zero12_wire_bytes> f7{{
    .id = "F7",
    .name = "zero12_wire_bytes",
    .title = "ZeRO-1 and ZeRO-2 traffic",
    .equation = "(n - 1) / n * P * (g + w)",
    .unit = "B",
    .validity = "Once per step.",
    .source = "ZERO section 7",
    .inputs = {{"local_params_count", "P"},
               {"gradient_bytes", "g"},
               {"weight_bytes", "w"},
               Input("ranks_count", "n").whole()},
    .example = "local_params_count=7e9 gradient_bytes=4B weight_bytes=2B ranks_count=64",
}};

/// F8: V = (n - 1) / n * P * (n_ag * w + n_rs * g) [B]. Weights are gathered for each pass,
/// gradients scattered.
double zero3_wire_bytes(double local_params, double gradient_bytes, double weight_bytes, double ranks,
                        double all_gathers, double reduce_scatters) {
  return (ranks - 1) / ranks * local_params * (all_gathers * weight_bytes + reduce_scatters * gradient_bytes);
}
const Define<zero3_wire_bytes> f8{{
    .id = "F8",
    .name = "zero3_wire_bytes",
    .title = "ZeRO-3 and FSDP traffic",
    .equation = "(n - 1) / n * P * (n_ag * w + n_rs * g)",
    .unit = "B",
    .validity = "Two all-gathers and one reduce-scatter per micro-batch; one all-gather if weights "
                "stay for backward.",
    .source = "ZERO section 7; PT-FSDP",
    .inputs = {{"local_params_count", "P"},
               {"gradient_bytes", "g"},
               {"weight_bytes", "w"},
               Input("ranks_count", "n").whole(),
               Input("all_gathers_count", "n_ag").otherwise(2),
               Input("reduce_scatters_count", "n_rs").otherwise(1)},
    .example = "local_params_count=7e9 gradient_bytes=2B weight_bytes=2B ranks_count=64 "
               "all_gathers_count=8 "
               "reduce_scatters_count=4",
}};

}  // namespace
}  // namespace headrace::job
