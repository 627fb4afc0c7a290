#include "harness/bringup/evidence.h"

#include <algorithm>

namespace headrace::bringup {
namespace {

// Each scale is 1 / (1 + what was measured / the scale). A latency of twice the usual one is a loss of about kDelta.
constexpr double kOfUsualLatency = 20;
// That a network of a cluster is taken to have: a hop more must be no loss, which RDMA takes 1 to 2 us for.
constexpr double kLeastLatency_s = 50e-6, kLeastRdmaLatency_s = 10e-6, kMostLatency_s = 1e-3;
constexpr double kResentScale = 0.05;  // 0.26 % sent again are a loss of kDelta

PartState worse(PartState a, PartState b) {
  constexpr std::array kOrder{PartState::accused, PartState::undecided, PartState::slower, PartState::cleared};
  return std::find(kOrder.begin(), kOrder.end(), a) < std::find(kOrder.begin(), kOrder.end(), b) ? a : b;
}

}  // namespace

std::string_view to_string(Quality quality) {
  switch (quality) {
    case Quality::rate:
      return "rate";
    case Quality::latency:
      return "latency";
    case Quality::resent:
      return "resent";
  }
  return "";
}

Evidence::Evidence(const Topology& topology, const SearchOptions& options) : latency_scale_s_(topology.rails, 0) {
  SearchOptions each = options;
  each.alpha /= kQualities.size();
  for (std::size_t i = 0; i < kQualities.size(); ++i) {
    searches_.emplace_back(topology, each);
    if (each.every_link) each.most_rounds *= 2;  // the first one sees to that, and takes longer
    each.every_link = false;
  }
}

/// What tells most of the rates; who is free then tells of the rest.
Round Evidence::next() {
  Round round;
  std::vector<bool> taken(searches_.front().posterior().topology().nodes, false);
  for (Search& search : searches_)
    for (const auto& [a, b] : search.next()) {
      if (taken[a] || taken[b]) continue;
      round.emplace_back(a, b);
      taken[a] = taken[b] = true;
    }
  return round;
}

double Evidence::on_scale(const PairMeasured& one, Quality quality) const {
  switch (quality) {
    case Quality::rate:
      return std::max(one.slower(), 1.0);  // [B/s]; the search wants more than nothing
    case Quality::latency:
      return 1 / (1 + one.latency_s / latency_scale_s_[one.rail]);
    case Quality::resent:
      return 1 / (1 + one.more_resent() / kResentScale);
  }
  return 1;
}

void Evidence::add(std::span<const PairMeasured> measured) {
  const Topology& of = searches_.front().posterior().topology();
  for (unsigned rail = 0; rail < of.rails; ++rail) {
    if (latency_scale_s_[rail] > 0) continue;
    std::vector<double> all;
    for (const PairMeasured& one : measured)
      if (one.rail == rail) all.push_back(one.latency_s);
    if (all.empty()) continue;
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    latency_scale_s_[rail] =
        kOfUsualLatency *
        std::clamp(all[all.size() / 2], of.is_rdma(rail) ? kLeastRdmaLatency_s : kLeastLatency_s, kMostLatency_s);
  }
  for (std::size_t i = 0; i < kQualities.size(); ++i) {
    std::vector<PairRate> rates;
    for (const PairMeasured& one : measured) rates.push_back({one.a, one.b, one.rail, on_scale(one, kQualities[i])});
    searches_[i].add(rates);
  }
}

void Evidence::lose(unsigned node) {
  for (Search& search : searches_) search.lose(node);
}

void Evidence::avoid(unsigned a, unsigned b) {
  for (Search& search : searches_) search.avoid(a, b);
}

PartState Evidence::node(unsigned number) const {
  PartState state = PartState::cleared;
  for (const Search& search : searches_) state = worse(search.node(number), state);
  return state;
}

std::vector<Fault> Evidence::faults() const {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < kQualities.size(); ++i)
    for (const Finding& one : searches_[i].findings()) {
      auto at = std::find_if(faults.begin(), faults.end(), [&](const Fault& known) {
        return known.scope == one.scope && known.a == one.a && known.b == one.b && known.rail == one.rail;
      });
      if (at == faults.end()) at = faults.insert(faults.end(), {one.scope, one.a, one.b, one.rail, 1, {}});
      at->healthy = std::min(at->healthy, one.healthy);
      at->in.push_back(kQualities[i]);
    }
  // What one of both ends loses with everybody, no link between them need lose.
  std::vector<bool> ends(searches_.front().posterior().topology().nodes, false);
  for (const Fault& fault : faults)
    if (fault.scope == Finding::Scope::node || fault.scope == Finding::Scope::nic) ends[fault.a] = true;
  std::erase_if(faults, [&](const Fault& fault) {
    return fault.scope == Finding::Scope::link && (ends[fault.a] || ends[fault.b]);
  });
  return faults;
}

double Evidence::usual_rate(unsigned rail) const {
  const auto& reference = searches_.front().posterior().noise().reference;
  return rail < reference.size() ? reference[rail] : 0;
}

}  // namespace headrace::bringup
