// Headroom, and bounds of repeated measurements (G1-G4).
#include <cmath>

#include "harness/base/quantiles.h"
#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// G1: rho = m / r [ratio]. For a rate; the inverse for a latency.
double headroom(double measured, double required) { return measured / required; }
const Define<headroom> g1{{
    .id = "G1",
    .name = "headroom",
    .title = "Headroom",
    .equation = "m / r",
    .unit = "ratio",
    .validity = "For what should be large, such as bandwidth; invert for latency.",
    .source = "definition",
    .inputs = {{"measured", "m"}, Input("required", "r").above(0)},
    .example = "measured=2.4GB/s required=1.3312GB/s",
}};

/// G2: L = x - t(p, n - 1) * s / sqrt(n) [as the input]. One-sided lower bound of a mean at
/// confidence p.
double mean_lower_bound(double mean, double deviation, double samples, double confidence) {
  return mean - statistics::t_quantile(confidence, samples - 1) * deviation / std::sqrt(samples);
}
const Define<mean_lower_bound> g2{{
    .id = "G2",
    .name = "mean_lower_bound",
    .title = "Lower bound of a mean",
    .equation = "x - t(p, n - 1) * s / sqrt(n)",
    .unit = "B/s",
    .validity = "Independent, roughly normal block means, not single operations. The result has "
                "the unit of the mean.",
    .source = "HB15",
    .inputs = {{"mean", "x"},
               {"standard_deviation", "s"},
               Input("samples_count", "n").whole().at_least(2),
               Input("confidence_ratio", "p").above(0).below(1).otherwise(0.95)},
    .example = "mean=2.4GB/s standard_deviation=100MB/s samples_count=10 confidence_ratio=0.95",
}};

/// G3: largest k with P(Bin(n, 1/2) <= k - 1) <= 1 - p [count]. The k-th smallest value bounds the
/// median from below; 0 when n is too small for that.
double median_lower_bound_rank(double samples, double confidence) {
  return statistics::binomial_rank(samples, 1 - confidence);
}
const Define<median_lower_bound_rank> g3{{
    .id = "G3",
    .name = "median_lower_bound_rank",
    .title = "Lower bound of a median (rank)",
    .equation = "largest k with P(Bin(n, 1/2) <= k - 1) <= 1 - p",
    .unit = "count",
    .validity = "Any distribution; 0 means too few samples (at 95 % at least 5).",
    .source = "HB15",
    .inputs = {Input("samples_count", "n").whole().at_most(1e7),
               Input("confidence_ratio", "p").above(0).below(1).otherwise(0.95)},
    .example = "samples_count=10 confidence_ratio=0.95",
}};

/// G4: n = ceil((z(p) * cv / epsilon)^2) [count]. Runs until the mean's half-width is epsilon of
/// it, z two-sided.
double runs_required(double variation, double half_width, double confidence) {
  const double z = statistics::normal_quantile((1 + confidence) / 2);
  return round_up(std::pow(z * variation / half_width, 2));
}
const Define<runs_required> g4{{
    .id = "G4",
    .name = "runs_required",
    .title = "Repetitions needed",
    .equation = "ceil((z(p) * cv / epsilon)^2)",
    .unit = "count",
    .validity = "Two-sided normal interval of the mean with relative half-width epsilon.",
    .source = "HB15",
    .inputs = {{"coefficient_of_variation_ratio", "cv"},
               Input("relative_half_width_ratio", "epsilon").above(0),
               Input("confidence_ratio", "p").above(0).below(1).otherwise(0.95)},
    .example = "coefficient_of_variation_ratio=0.05 relative_half_width_ratio=0.02 confidence_ratio=0.95",
}};

}  // namespace
}  // namespace headrace::job
