#include "harness/engine/prediction.h"

#include <algorithm>

#include "harness/requirements/formula.h"

namespace headrace {
namespace {

using requirements::apply;

constexpr double kNoLimit = 1e15;

/// Storage, decoding and taking batches side by side.
double overlapped(const MeasuredParts& p, double storage) {
  const double cpu_s = p.cpu_time_s + p.taking_s;
  const double prepared = cpu_s > 0 && p.cores > 0 ? p.cores / cpu_s : kNoLimit;
  const double handed = p.handed > 0 ? p.handed : kNoLimit;
  return apply("B12",
               {{"fetch_per_s", storage}, {"prep_per_s", prepared}, {"h2d_per_s", handed}, {"gpu_per_s", kNoLimit}})
      .value();
}

/// Each worker reads, then decodes.
double one_after_the_other(const MeasuredParts& p, double storage) {
  if (p.cpu_time_s <= 0) return overlapped(p, storage);
  const double per_sample =
      apply("A17", {{"compute_time_s", p.cpu_time_s}, {"io_time_s", p.workers / storage}, {"overlap_ratio", 0}})
          .value();
  return std::min(p.workers / per_sample, overlapped(p, storage));
}

}  // namespace

Prediction predict_utilization(const MeasuredParts& p) {
  Prediction made;
  made.rate = {.value = (one_after_the_other(p, p.storage.value) + overlapped(p, p.storage.value)) / 2,
               .low = one_after_the_other(p, p.storage.low),
               .high = overlapped(p, p.storage.high)};
  const auto utilization = [&](double rate) {
    return apply("A18", {{"supply_bytes_per_s", rate}, {"demand_bytes_per_s", p.taken}}).value();
  };
  made.utilization = {
      .value = utilization(made.rate.value), .low = utilization(made.rate.low), .high = utilization(made.rate.high)};
  made.formula = p.cpu_time_s + p.taking_s > 0 ? "A17, A18, B2, B12" : "A18";
  return made;
}

}  // namespace headrace
