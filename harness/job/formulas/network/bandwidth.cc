// Bus bandwidth that traffic needs, times it takes, and NICs to carry it (F18-F22).
#include <algorithm>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// F18: B = V / (omega * t_win + t_exp) [B/s]. Rate at which V bytes fit the hidden window plus the exposed time.
double busbw_required(double wire, double window, double overlap, double exposed) {
  const double time = overlap * window + exposed;
  if (time <= 0)
    throw DomainError("busbw_required: overlap_ratio * overlap_window_s + exposed_budget_s must be above 0");
  return wire / time;
}
const Define<busbw_required> f18{{
    .id = "F18",
    .name = "busbw_required",
    .title = "Required bus bandwidth",
    .equation = "V / (omega * t_win + t_exp)",
    .unit = "B/s",
    .validity = "The window is about 2/3 of compute for gradients (backward). Volume / time is "
                "already a bus bandwidth.",
    .source = "derived",
    .inputs = {{"wire_bytes", "V"},
               {"overlap_window_s", "t_win"},
               Input("overlap_ratio", "omega").at_most(1),
               Input("exposed_budget_s", "t_exp").otherwise(0)},
    .example = "wire_bytes=27.5625GB overlap_window_s=800ms overlap_ratio=0.9 exposed_budget_s=50ms",
}};

/// F19: t = 2 * S * (g - 1) / (g * B_nv) + 2 * (S / g) * (N - 1) / (N * B_nic) [s]. All-reduce in
/// two levels: within nodes, then between them on each GPU's NIC.
double allreduce_two_level_time(double message, double gpus_per_node, double nodes, double intra_busbw, double nic) {
  return 2 * message * (gpus_per_node - 1) / (gpus_per_node * intra_busbw) +
         2 * (message / gpus_per_node) * (nodes - 1) / (nodes * nic);
}
const Define<allreduce_two_level_time> f19{{
    .id = "F19",
    .name = "allreduce_two_level_time",
    .title = "Two-level all-reduce",
    .equation = "2 * S * (g - 1) / (g * B_nv) + 2 * (S / g) * (N - 1) / (N * B_nic)",
    .unit = "s",
    .validity = "Stages one after another; the larger of the two when they are pipelined.",
    .source = "derived from F2",
    .inputs = {{"message_bytes", "S"},
               Input("gpus_per_node_count", "g").whole(),
               Input("nodes_count", "N").whole(),
               Input("intra_busbw_bytes_per_s", "B_nv").above(0),
               Input("nic_per_gpu_bytes_per_s", "B_nic").above(0)},
    .example = "message_bytes=14GB gpus_per_node_count=8 nodes_count=8 intra_busbw_bytes_per_s=370GB/s "
               "nic_per_gpu_bytes_per_s=48GB/s",
}};

/// F20: t = 2 * (n - 1) / n * S / min(B_nv, k * B_nic) [s]. Ring all-reduce whose k rings share a
/// node's NICs.
double allreduce_multirail_ring_time(double message, double ranks, double nics, double intra_busbw, double nic) {
  return 2 * (ranks - 1) / ranks * message / std::min(intra_busbw, nics * nic);
}
const Define<allreduce_multirail_ring_time> f20{{
    .id = "F20",
    .name = "allreduce_multirail_ring_time",
    .title = "Multi-rail ring all-reduce",
    .equation = "2 * (n - 1) / n * S / min(B_nv, k * B_nic)",
    .unit = "s",
    .validity = "k NICs of a node carry k rings: the node's bus bandwidth, not one NIC's.",
    .source = "NCCL",
    .inputs = {{"message_bytes", "S"},
               Input("ranks_count", "n").whole(),
               Input("nics_per_node_count", "k").whole(),
               Input("intra_busbw_bytes_per_s", "B_nv").above(0),
               Input("nic_bytes_per_s", "B_nic").above(0)},
    .example = "message_bytes=14GB ranks_count=64 nics_per_node_count=8 intra_busbw_bytes_per_s=370GB/s "
               "nic_bytes_per_s=48GB/s",
}};

/// F21: B' = B / max(1, x * o) [B/s]. The rest of a NIC's bandwidth when a share x of its traffic crosses a spine with
/// oversubscription o : 1.
double nic_bandwidth_oversubscribed(double nic, double cross_spine, double oversubscription) {
  return nic / std::max(1.0, cross_spine * oversubscription);
}
const Define<nic_bandwidth_oversubscribed> f21{{
    .id = "F21",
    .name = "nic_bandwidth_oversubscribed",
    .title = "NIC rate under oversubscription",
    .equation = "B / max(1, x * o)",
    .unit = "B/s",
    .validity = "x is about 0 for a rail-aligned all-reduce inside one unit, 1 - 1 / units for all-to-all.",
    .source = "derived",
    .inputs = {{"nic_bytes_per_s", "B"},
               Input("cross_spine_ratio", "x").at_most(1),
               Input("oversubscription_ratio", "o").above(0)},
    .example = "nic_bytes_per_s=50GB/s cross_spine_ratio=0.75 oversubscription_ratio=4",
}};

/// F22: k = ceil(W / (r / 8 * eta)) [count]. NICs of a node for W bytes/s at line rate r bit/s.
double nics_required(double node_rate, double line_rate_bits, double efficiency) {
  return round_up(node_rate / (line_rate_bits / 8 * efficiency));
}
const Define<nics_required> f22{{
    .id = "F22",
    .name = "nics_required",
    .title = "NICs (rails) per node",
    .equation = "ceil(W / (r / 8 * eta))",
    .unit = "count",
    .validity = "eta is about 0.96 for large messages on InfiniBand.",
    .source = "derived; to be measured",
    .inputs = {{"node_bytes_per_s", "W"},
               Input("line_rate_bits_per_s", "r").above(0),
               Input("efficiency_ratio", "eta").above(0).at_most(1)},
    .example = "node_bytes_per_s=300GB/s line_rate_bits_per_s=400Gbit/s efficiency_ratio=0.96",
}};

}  // namespace
}  // namespace headrace::job
