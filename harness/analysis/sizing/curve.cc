#include "harness/analysis/sizing/curve.h"

#include <algorithm>
#include <cmath>

#include "harness/engine/explain/scaling.h"

namespace headrace::sizing {

Curve::Curve(std::vector<Measurement> measured, bool per_node, bool local) : per_node_(per_node), local_(local) {
  std::vector<double> counts;
  for (Measurement& m : measured) measured_.try_emplace(m.clients, std::move(m));
  for (const auto& [clients, m] : measured_) counts.push_back(clients);
  if (counts.size() < 2) return;
  const Measurement &last = largest(),
                    &fewer = std::next(measured_.begin(), static_cast<std::ptrdiff_t>(count_to_hold_against(counts)))
                                 ->second;
  saturated_ = stopped_growing(fewer.clients, fewer.mean, last.clients, last.mean);
  surely_saturated_ = stopped_growing(fewer.clients, fewer.low, last.clients, last.high);
}

double Curve::reach(double wanted) const {
  const double measured = measured_to();
  const bool grows = measured_.size() > 1 && wanted <= kFarthest * measured;
  if (wanted <= measured || per_node_ || (!local_ && (saturated_ || grows))) return wanted;
  return measured;
}

Curve::Value Curve::at(double clients) const {
  const Measurement& last = largest();
  if (clients > last.clients) {
    const double times = clients / last.clients, all = saturated_ ? 1 : times, at_best = surely_saturated_ ? 1 : times;
    return {last.mean * all, last.low * all, last.high * at_best, per_node_ ? Basis::modelled : Basis::extrapolated,
            &last,           &last};
  }
  const auto above = measured_.lower_bound(static_cast<unsigned>(std::ceil(clients)));
  const Measurement& b = above->second;
  if (b.clients == clients) return {b.mean, b.low, b.high, Basis::measured, &b, &b};
  if (above == measured_.begin()) {
    const double share = clients / b.clients;
    return {b.mean * share, b.low * share, per_node_ ? b.high * share : b.high, Basis::modelled, &b, &b};
  }
  const Measurement& a = std::prev(above)->second;
  const double share = (clients - a.clients) / (b.clients - a.clients);
  const auto between = [&](double low, double high) { return low + share * (high - low); };
  return {between(a.mean, b.mean), between(a.low, b.low), between(a.high, b.high), Basis::modelled, &a, &b};
}

}  // namespace headrace::sizing
