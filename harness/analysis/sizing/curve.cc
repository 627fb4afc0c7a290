#include "harness/analysis/sizing/curve.h"

#include <algorithm>
#include <cmath>

namespace headrace::sizing {

Curve::Curve(std::vector<Measurement> measured, bool per_node, bool local) : per_node_(per_node), local_(local) {
  simulate::Counts counts;
  for (Measurement& m : measured) measured_.try_emplace(m.clients, std::move(m));
  for (const auto& [clients, m] : measured_) counts.emplace_back(clients, m.mean);
  saturated_ = counts.size() > 1 && simulate::stopped_growing(counts);
}

double Curve::reach(double wanted) const {
  const bool shows_growth = !local_ && measured_.size() > 1;
  return per_node_ || shows_growth ? wanted : std::min<double>(wanted, measured_to());
}

simulate::Supply Curve::supply() const {
  simulate::Supply supply{.saturated = saturated_};
  for (const auto& [clients, m] : measured_)
    if (m.mean > 0 && m.low > 0) supply.measured.push_back({static_cast<double>(clients), m.mean, m.low, m.high});
  return supply;
}

Curve::Value Curve::at(double clients) const {
  const Measurement& last = largest();
  if (clients > last.clients && per_node_) {
    const double times = clients / last.clients;
    return {last.mean * times, last.low * times, last.high * times, Basis::modelled, &last, &last};
  }
  if (clients > last.clients) {
    const auto [found, is_new] = expected_.try_emplace(clients);
    if (const auto all = supply(); is_new && all.known()) found->second = simulate::expected_rate(all, clients);
    return {found->second.median, found->second.low, found->second.high, Basis::extrapolated, &last, &last};
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
