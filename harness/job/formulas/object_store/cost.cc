// An object store's charges, and the parts it allows (D8, D9, D12).
#include <algorithm>

#include "harness/job/define.h"
#include "harness/job/rounding.h"

namespace headrace::job {
namespace {

/// D8: C = ceil(D / s) / 1000 * p [USD]. Price of the requests that read a data set once.
double request_cost_per_epoch(double dataset, double request, double price_per_1000) {
  return round_up(dataset / request) / 1000 * price_per_1000;
}
const Define<request_cost_per_epoch> d8{{
    .id = "D8",
    .name = "request_cost_per_epoch",
    .title = "Request cost per epoch",
    .equation = "ceil(D / s) / 1000 * p",
    .unit = "USD",
    .validity = "s is the mean object size when each sample is an object. Prices are inputs with a date.",
    .source = "AWS price list",
    .inputs = {{"dataset_bytes", "D"}, Input("request_bytes", "s").above(0), {"price_usd_per_1000_requests", "p"}},
    .example = "dataset_bytes=166.55171GB request_bytes=130kB price_usd_per_1000_requests=0.0004",
}};

/// D9: C = sum over tiers i of (min(C, L_i) - L_(i-1)) * p_i, with limits L and prices p
/// [USD/month]. Limits are cumulative and the last price has none. Rejected when the limits do not
/// rise or there is not one price more than limits.
double capacity_cost_monthly(double stored, const std::vector<double>& limits, const std::vector<double>& prices) {
  if (prices.size() != limits.size() + 1)
    throw DomainError(
        "capacity_cost_monthly: tier_prices_usd_per_gb_month needs one price more than there are "
        "limits");
  double cost = 0, below = 0;
  for (std::size_t i = 0; i < prices.size(); ++i) {
    const double limit = i < limits.size() ? limits[i] : std::max(stored, below);
    if (limit < below) throw DomainError("capacity_cost_monthly: tier_limits_gb must rise");
    cost += std::max(0.0, std::min(stored, limit) - below) * prices[i];
    below = limit;
  }
  return cost;
}
const Define<capacity_cost_monthly> d9{{
    .id = "D9",
    .name = "capacity_cost_monthly",
    .title = "Capacity cost",
    .equation = "sum over tiers i of (min(C, L_i) - L_(i-1)) * p_i, with limits L and prices p",
    .unit = "USD/month",
    .validity = "Tier limits are cumulative; prices are inputs with a date, never constants.",
    .source = "AWS price list",
    .inputs = {{"stored_gb", "C"},
               Input("tier_limits_gb", "L").each(),
               Input("tier_prices_usd_per_gb_month", "p").each()},
    .example = "stored_gb=100TB tier_limits_gb=50000,500000 "
               "tier_prices_usd_per_gb_month=0.023,0.022,0.021",
}};

/// D12: s = max(5 MiB, ceil(K / 10000)) [B]. Smallest part of a multipart upload.
double multipart_part_bytes_min(double object) {
  constexpr double kSmallestPart = 5 * 1048576.0, kMostParts = 10000;  // limits of S3
  return std::max(kSmallestPart, round_up(object / kMostParts));
}
const Define<multipart_part_bytes_min> d12{{
    .id = "D12",
    .name = "multipart_part_bytes_min",
    .title = "Smallest multipart part",
    .equation = "max(5 MiB, ceil(K / 10000))",
    .unit = "B",
    .validity = "S3 allows 10000 parts of at least 5 MiB.",
    .source = "AWS",
    .inputs = {{"object_bytes", "K"}},
    .example = "object_bytes=980GB",
}};

}  // namespace
}  // namespace headrace::job
