// Moving batches between host and GPU over PCIe (B5-B10).
#include <algorithm>

#include "harness/job/define.h"

namespace headrace::job {
namespace {

/// B5: W = g * b * S_d / t [B/s]. Host-to-device rate of the g GPUs of one host.
double h2d_bandwidth_required(double gpus, double batch_samples, double decoded, double step_time) {
  return gpus * batch_samples * decoded / step_time;
}
const Define<h2d_bandwidth_required> b5{{
    .id = "B5",
    .name = "h2d_bandwidth_required",
    .title = "Host-to-device bandwidth",
    .equation = "g * b * S_d / t",
    .unit = "B/s",
    .validity = "Hidden when g = 1 fits the pinned rate of one GPU and the sum fits the root "
                "complex and DRAM (B11).",
    .source = "definition",
    .inputs = {Input("gpus_count", "g").whole(),
               {"batch_samples_count", "b"},
               {"decoded_sample_bytes", "S_d"},
               Input("step_time_s", "t").above(0)},
    .example = "gpus_count=8 batch_samples_count=256 decoded_sample_bytes=602112B step_time_s=200ms",
}};

/// B6: W = f * L * e / 8 [B/s]. PCIe rate of one direction after line encoding.
double pcie_raw_bandwidth(double lane_transfers, double lanes, double encoding) {
  return lane_transfers * lanes * encoding / 8;
}
const Define<pcie_raw_bandwidth> b6{{
    .id = "B6",
    .name = "pcie_raw_bandwidth",
    .title = "PCIe raw bandwidth",
    .equation = "f * L * e / 8",
    .unit = "B/s",
    .validity = "Per direction; e = 128/130 from Gen3 to Gen5.",
    .source = "PCIe base specification; INTEL",
    .inputs = {{"lane_transfers_per_s", "f"},
               Input("lanes_count", "L").whole(),
               Input("encoding_ratio", "e").above(0).at_most(1).otherwise(128.0 / 130)},
    .example = "lane_transfers_per_s=32GT/s lanes_count=16",
}};

/// B7: W' = W * P / (P + o) [B/s]. The raw rate less packet headers.
double pcie_effective_bandwidth(double raw, double max_payload, double packet_overhead) {
  return raw * max_payload / (max_payload + packet_overhead);
}
const Define<pcie_effective_bandwidth> b7{{
    .id = "B7",
    .name = "pcie_effective_bandwidth",
    .title = "PCIe effective bandwidth",
    .equation = "W * P / (P + o)",
    .unit = "B/s",
    .validity = "P is the maximum payload (128 to 512 B), o about 20 to 28 B per packet.",
    .source = "INTEL; MLENG",
    .inputs = {{"raw_bytes_per_s", "W"}, Input("max_payload_bytes", "P").above(0), {"packet_overhead_bytes", "o"}},
    .example = "raw_bytes_per_s=63.015GB/s max_payload_bytes=256B packet_overhead_bytes=24B",
}};

/// B8: W' = 1 / (1 / W_mem + 1 / W_pin) [B/s]. Pageable copy when the driver stages, then
/// transfers: a lower bound.
double pageable_h2d_serial(double memcpy_rate, double pinned_rate) { return 1 / (1 / memcpy_rate + 1 / pinned_rate); }
const Define<pageable_h2d_serial> b8{{
    .id = "B8",
    .name = "pageable_h2d_serial",
    .title = "Pageable copy, serial staging",
    .equation = "1 / (1 / W_mem + 1 / W_pin)",
    .unit = "B/s",
    .validity = "Lower bound: the copy to the staging buffer and the transfer do not overlap.",
    .source = "CUDA; PT-PIN",
    .inputs = {Input("memcpy_bytes_per_s", "W_mem").above(0), Input("pinned_h2d_bytes_per_s", "W_pin").above(0)},
    .example = "memcpy_bytes_per_s=12GB/s pinned_h2d_bytes_per_s=55.4GB/s",
}};

/// B9: W' = min(W_mem, W_pin) [B/s]. Pageable copy when chunks overlap: an upper bound.
double pageable_h2d_pipelined(double memcpy_rate, double pinned_rate) { return std::min(memcpy_rate, pinned_rate); }
const Define<pageable_h2d_pipelined> b9{{
    .id = "B9",
    .name = "pageable_h2d_pipelined",
    .title = "Pageable copy, pipelined staging",
    .equation = "min(W_mem, W_pin)",
    .unit = "B/s",
    .validity = "Upper bound: staging in chunks overlaps the transfer. Memory traffic is three "
                "times the pinned path's.",
    .source = "CUDA; PT-PIN",
    .inputs = {Input("memcpy_bytes_per_s", "W_mem").above(0), Input("pinned_h2d_bytes_per_s", "W_pin").above(0)},
    .example = "memcpy_bytes_per_s=12GB/s pinned_h2d_bytes_per_s=55.4GB/s",
}};

/// B10: x = async ? max(0, H / W - t_c) : H / W [s]. Copy time that compute does not hide.
double h2d_exposed_time(double batch_bytes, double h2d_rate, double compute, bool asynchronous) {
  const double copy = batch_bytes / h2d_rate;
  return asynchronous ? std::max(0.0, copy - compute) : copy;
}
const Define<h2d_exposed_time> b10{{
    .id = "B10",
    .name = "h2d_exposed_time",
    .title = "Exposed host-to-device time",
    .equation = "async ? max(0, H / W - t_c) : H / W",
    .unit = "s",
    .validity = "Asynchronous needs pinned memory, a non-blocking copy and a stream of its own.",
    .source = "CUDA; PT-PIN",
    .inputs = {{"batch_bytes", "H"},
               Input("h2d_bytes_per_s", "W").above(0),
               {"compute_time_s", "t_c"},
               Input("asynchronous", "async")},
    .example = "batch_bytes=154140672B h2d_bytes_per_s=12GB/s compute_time_s=200ms asynchronous=false",
}};

}  // namespace
}  // namespace headrace::job
