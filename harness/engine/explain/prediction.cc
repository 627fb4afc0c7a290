#include "harness/engine/explain/prediction.h"

#include <algorithm>

#include "harness/job/formula.h"

namespace headrace {
namespace {

using job::apply;

/// Samples/s of storage, and of all other work.
struct Rates {
  double storage, prepared;
};

/// Storage, decoding and taking batches side by side. What limits nothing gets the rate of storage.
double overlapped(const MeasuredParts& p, const Rates& r) {
  return apply("B12", {{"fetch_per_s", r.storage},
                       {"prep_per_s", r.prepared},
                       {"h2d_per_s", p.handed != 0 ? p.handed : r.storage},
                       {"gpu_per_s", r.storage}})
      .value();
}

/// Each worker reads, then decodes for `decoding_s`.
double one_after_the_other(const MeasuredParts& p, const Rates& r, double decoding_s) {
  if (decoding_s <= 0) return overlapped(p, r);
  const double per_sample =
      apply("A17", {{"compute_time_s", decoding_s}, {"io_time_s", p.workers / r.storage}, {"overlap_ratio", 0}})
          .value();
  return std::min(p.workers / per_sample, overlapped(p, r));
}

}  // namespace

Prediction predict_utilization(const MeasuredParts& p) {
  const double cpu_s = p.cpu_time_s + p.taking_s;
  const auto rates = [&](double Estimate::*bound) {
    const double storage = p.storage.*bound;
    if (p.memory) return Rates{storage, (*p.memory).*bound};
    return Rates{storage, cpu_s > 0 && p.cores > 0 ? p.cores / cpu_s : storage};
  };
  const auto in_turn = [&](const Rates& r) {
    return one_after_the_other(p, r, p.memory ? p.workers / r.prepared : p.cpu_time_s);
  };
  Prediction made;
  const Rates middle = rates(&Estimate::value);
  made.rate = {.value = (in_turn(middle) + overlapped(p, middle)) / 2,
               .low = in_turn(rates(&Estimate::low)),
               .high = overlapped(p, rates(&Estimate::high))};
  const auto utilization = [&](double rate) {
    return apply("A18", {{"supply_bytes_per_s", rate}, {"demand_bytes_per_s", p.taken}}).value();
  };
  made.utilization = {
      .value = utilization(made.rate.value), .low = utilization(made.rate.low), .high = utilization(made.rate.high)};
  made.formula = cpu_s > 0 ? "A17, A18, B2, B12" : "A18";
  return made;
}

}  // namespace headrace
