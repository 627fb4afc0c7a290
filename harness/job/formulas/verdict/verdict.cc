// From measured bounds to a verdict, and how far it carries (G5-G10).
#include <algorithm>
#include <cmath>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// G5: PASS if L >= kappa * r; FAIL if U < kappa * r; else INCONCLUSIVE. An unmeasured need never passes.
std::string_view verdict(double lower, double upper, double required, double margin) {
  if (lower > upper) throw DomainError("verdict: lower_bound must not be above upper_bound");
  const double need = margin * required;
  return lower >= need ? "PASS" : upper < need ? "FAIL" : "INCONCLUSIVE";
}
const Define<verdict> g5{{
    .id = "G5",
    .name = "verdict",
    .title = "Verdict",
    .equation = "PASS if L >= kappa * r; FAIL if U < kappa * r; else INCONCLUSIVE",
    .unit = "verdict",
    .validity =
        "For what should be large. kappa is the safety margin; without a measurement a need is SKIPPED, never PASS.",
    .source = "policy",
    .inputs = {{"lower_bound", "L"},
               {"upper_bound", "U"},
               {"required", "r"},
               Input("safety_margin_ratio", "kappa").above(0).otherwise(1.2)},
    .example = "lower_bound=1.45GB/s upper_bound=1.75GB/s required=1.3312GB/s safety_margin_ratio=1.2",
}};

/// G6: W = min(n * w, W_backend, W_fabric) [B/s]. The rate of n clients together.
double aggregate_bandwidth(double clients, double per_client, double backend, double fabric) {
  return std::min({clients * per_client, backend, fabric});
}
const Define<aggregate_bandwidth> g6{{
    .id = "G6",
    .name = "aggregate_bandwidth",
    .title = "Aggregate bandwidth",
    .equation = "min(n * w, W_backend, W_fabric)",
    .unit = "B/s",
    .validity = "One client measures w only: the backend stays unknown until n * w stops growing.",
    .source = "definition",
    .inputs = {Input("clients_count", "n").whole(),
               {"per_client_bytes_per_s", "w"},
               {"backend_bytes_per_s", "W_backend"},
               {"fabric_bytes_per_s", "W_fabric"}},
    .example = "clients_count=64 per_client_bytes_per_s=2GB/s backend_bytes_per_s=100GB/s "
               "fabric_bytes_per_s=80GB/s",
}};

/// G7: n = ceil(W_backend / w) [count]. Fewest clients that can saturate a backend.
double saturation_clients(double backend, double per_client) { return round_up(backend / per_client); }
const Define<saturation_clients> g7{{
    .id = "G7",
    .name = "saturation_clients",
    .title = "Saturating clients",
    .equation = "ceil(W_backend / w)",
    .unit = "count",
    .validity = "Use at least this many clients to measure a backend.",
    .source = "derived",
    .inputs = {{"backend_bytes_per_s", "W_backend"}, Input("per_client_bytes_per_s", "w").above(0)},
    .example = "backend_bytes_per_s=40GB/s per_client_bytes_per_s=6GB/s",
}};

/// G8: G = floor(L / (kappa * w)) [count]. GPUs that the lower bound can promise to feed.
double gpus_within_headroom(double lower, double demand_per_gpu, double margin) {
  return round_down(lower / (margin * demand_per_gpu));
}
const Define<gpus_within_headroom> g8{{
    .id = "G8",
    .name = "gpus_within_headroom",
    .title = "GPUs within headroom",
    .equation = "floor(L / (kappa * w))",
    .unit = "count",
    .validity = "Conservative: uses the lower bound.",
    .source = "derived",
    .inputs = {{"lower_bound_bytes_per_s", "L"},
               Input("demand_per_gpu_bytes_per_s", "w").above(0),
               Input("safety_margin_ratio", "kappa").above(0).otherwise(1.2)},
    .example = "lower_bound_bytes_per_s=2.342GB/s demand_per_gpu_bytes_per_s=166.4MB/s "
               "safety_margin_ratio=1.2",
}};

/// G9: W = W_ingest + W_drain + W_other [B/s]. Loads that share a path add up.
double shared_path_demand(double ingest, double drain, double other) { return ingest + drain + other; }
const Define<shared_path_demand> g9{{
    .id = "G9",
    .name = "shared_path_demand",
    .title = "Demand on a shared path",
    .equation = "W_ingest + W_drain + W_other",
    .unit = "B/s",
    .validity = "Asynchronous drain, cache fill and ingest run at the same time.",
    .source = "definition",
    .inputs = {{"ingest_bytes_per_s", "W_ingest"},
               {"checkpoint_drain_bytes_per_s", "W_drain"},
               Input("other_bytes_per_s", "W_other").otherwise(0)},
    .example = "ingest_bytes_per_s=1.3312GB/s checkpoint_drain_bytes_per_s=545.961MB/s",
}};

/// G10: u = sqrt(u_S^2 + u_t^2 + (u_h / (1 - h))^2) [ratio]. Relative uncertainty of the required
/// read bandwidth.
double requirement_relative_uncertainty(double sample_rel, double step_rel, double hit_abs, double hit) {
  return std::hypot(sample_rel, step_rel, hit_abs / (1 - hit));
}
const Define<requirement_relative_uncertainty> g10{{
    .id = "G10",
    .name = "requirement_relative_uncertainty",
    .title = "Uncertainty of a requirement",
    .equation = "sqrt(u_S^2 + u_t^2 + (u_h / (1 - h))^2)",
    .unit = "ratio",
    .validity = "Independent, first order; u_h is absolute, the others relative.",
    .source = "error propagation",
    .inputs = {{"sample_bytes_rel_ratio", "u_S"},
               {"step_time_rel_ratio", "u_t"},
               {"hit_ratio_abs_ratio", "u_h"},
               Input("cache_hit_ratio", "h").below(1)},
    .example = "sample_bytes_rel_ratio=0.05 step_time_rel_ratio=0.1 hit_ratio_abs_ratio=0.1 "
               "cache_hit_ratio=0.65",
}};

}  // namespace
}  // namespace headrace::job
