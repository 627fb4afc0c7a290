// The most that client hosts can take, and the GPUs that storage and hosts feed together (A29, A30).
#include <algorithm>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// A29: W_host = H * min(c * eta * S / t_cpu, B_nic, k * S / t_read) [B/s]. The most that H client hosts can take:
/// their processors, their NICs or their reader threads are used up.
double client_supply(double hosts, double cores, double utilization, double sample_bytes, double cpu_time, double nic,
                     double readers, double read_time) {
  const double processors = cores * utilization * sample_bytes / cpu_time;
  const double threads = readers * sample_bytes / read_time;
  return hosts * std::min({processors, nic, threads});
}
const Define<client_supply> a29{{
    .id = "A29",
    .name = "client_supply",
    .title = "What client hosts can take",
    .equation = "H * min(c * eta * S / t_cpu, B_nic, k * S / t_read)",
    .unit = "B/s",
    .validity =
        "t_cpu: processor seconds for a sample, of one host and measured with its own loader. k: reader threads "
        "of a host, each of which reads a sample in t_read. Hosts are alike.",
    .source = "derived from B2 and Little's law",
    .inputs = {Input("hosts_count", "H").whole(), Input("cores_per_host_count", "c").above(0),
               Input("target_utilization_ratio", "eta").above(0).at_most(1).otherwise(1),
               Input("sample_bytes", "S").above(0), Input("cpu_time_per_sample_s", "t_cpu").above(0),
               Input("nic_bytes_per_s", "B_nic").above(0), Input("readers_per_host_count", "k").above(0),
               Input("read_time_s", "t_read").above(0)},
    .example = "hosts_count=1 cores_per_host_count=48 target_utilization_ratio=1 sample_bytes=322957B "
               "cpu_time_per_sample_s=4.4ms nic_bytes_per_s=25GB/s readers_per_host_count=256 read_time_s=10ms",
}};

/// A30: G = floor(min(W_sup, W_host) / (AU * w)) [count]. A22 with the hosts between storage and GPUs.
double gpus_supported_by_clients(double supply, double clients, double demand_per_gpu, double au_target) {
  return round_down(std::min(supply, clients) / (au_target * demand_per_gpu));
}
const Define<gpus_supported_by_clients> a30{{
    .id = "A30",
    .name = "gpus_supported_by_clients",
    .title = "GPUs that storage and client hosts can feed",
    .equation = "floor(min(W_sup, W_host) / (AU * w))",
    .unit = "count",
    .validity = "Host-bound where W_host is the smaller one: then faster storage feeds no more. W_host from A29.",
    .source = "derived from A22",
    .inputs = {{"supply_bytes_per_s", "W_sup"},
               {"client_bytes_per_s", "W_host"},
               Input("demand_per_gpu_bytes_per_s", "w").above(0),
               Input("au_target_ratio", "AU").above(0).at_most(1)},
    .example = "supply_bytes_per_s=13GB/s client_bytes_per_s=3.5GB/s demand_per_gpu_bytes_per_s=163MB/s "
               "au_target_ratio=0.85",
}};

}  // namespace
}  // namespace headrace::job
