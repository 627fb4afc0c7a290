#include "harness/bringup/blame/evidence.h"

#include <algorithm>

namespace headrace::bringup {
namespace {

// Each scale is 1 / (1 + measured / scale). A latency of twice the usual one is a loss of about kDelta.
constexpr double kOfUsualLatency = 20;
// The difference that a cluster's network may have: a further hop (1 to 2 us for RDMA) is no loss.
constexpr double kLeastLatency_s = 50e-6, kLeastRdmaLatency_s = 10e-6, kMostLatency_s = 1e-3;
constexpr double kResentScale = 0.05;  // 0.26 % sent again are a loss of kDelta
// A lossy part loses a burst now and then: a short measurement shows none of them, or several.
constexpr double kHiddenBursts = 0.3, kScatteredBursts = 0.6;

PartState worse(PartState a, PartState b) {
  constexpr std::array kOrder{PartState::accused, PartState::undecided, PartState::slower, PartState::cleared};
  return std::find(kOrder.begin(), kOrder.end(), a) < std::find(kOrder.begin(), kOrder.end(), b) ? a : b;
}

bool of_node(const Fault& fault, unsigned node) { return fault.scope == Finding::Scope::node && fault.a == node; }

/// Adds another search's findings: the same part once.
void add_to(std::vector<Fault>& faults, const Fault& more) {
  auto at = std::find_if(faults.begin(), faults.end(), [&](const Fault& known) {
    return known.scope == more.scope && known.a == more.a && known.b == more.b &&
           (known.rail == more.rail || more.scope == Finding::Scope::node ||
            more.scope == Finding::Scope::switch_fabric);
  });
  if (at == faults.end()) {
    faults.push_back(more);
    return;
  }
  at->healthy = std::min(at->healthy, more.healthy);
  for (const Quality quality : more.in)
    if (std::find(at->in.begin(), at->in.end(), quality) == at->in.end()) at->in.push_back(quality);
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

Evidence::Evidence(const std::vector<Topology>& networks, const SearchOptions& options) {
  SearchOptions each = options;
  each.alpha /= static_cast<double>(kQualities.size() * networks.size());
  unsigned first_rail = 0;
  for (const Topology& network : networks) {
    each.every_link = options.every_link;
    each.most_rounds = options.most_rounds;
    for (const Quality quality : kQualities) {
      each.prior.hidden = quality == Quality::resent ? kHiddenBursts : 0;
      each.prior.scattered = quality == Quality::resent ? kScatteredBursts : 0;
      searches_.push_back({first_rail, quality, Search(network, each)});
      if (each.every_link) each.most_rounds *= 2;  // the first one sees to that, and takes longer
      each.every_link = false;
    }
    first_rail += network.rails;
  }
  latency_scale_s_.assign(first_rail, 0);
}

/// The pairs that report most of the rates; free nodes then report on the rest.
Round Evidence::next() {
  Round round;
  std::vector<bool> taken(searches_.front().search.posterior().topology().nodes, false);
  for (OneSearch& one : searches_)
    for (const auto& [a, b] : one.search.next()) {
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
  for (unsigned rail = 0; rail < latency_scale_s_.size(); ++rail) {
    if (latency_scale_s_[rail] > 0) continue;
    std::vector<double> all;
    for (const PairMeasured& one : measured)
      if (one.rail == rail) all.push_back(one.latency_s);
    if (all.empty()) continue;
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    const bool by_tcp = searches_.front().of(rail);
    latency_scale_s_[rail] =
        kOfUsualLatency *
        std::clamp(all[all.size() / 2], by_tcp ? kLeastLatency_s : kLeastRdmaLatency_s, kMostLatency_s);
  }
  for (OneSearch& search : searches_) {
    std::vector<PairRate> rates;
    for (const PairMeasured& one : measured)
      if (search.of(one.rail))
        rates.push_back({one.a, one.b, one.rail - search.first_rail, on_scale(one, search.quality)});
    search.search.add(rates);
  }
}

void Evidence::lose(unsigned node) {
  for (OneSearch& one : searches_) one.search.lose(node);
}

void Evidence::lose(unsigned node, unsigned rail) {
  for (OneSearch& one : searches_)
    if (one.of(rail)) one.search.lose(node);
}

void Evidence::avoid(unsigned a, unsigned b, unsigned rail) {
  for (OneSearch& one : searches_)
    if (one.of(rail)) one.search.avoid(a, b);
}

PartState Evidence::node(unsigned number) const {
  PartState state = PartState::cleared;
  for (const OneSearch& one : searches_) state = worse(one.search.node(number), state);
  return state;
}

/// The faults of one network, along its qualities.
std::vector<Fault> Evidence::faults_of(std::size_t first, std::size_t last) const {
  std::vector<Fault> faults;
  for (std::size_t i = first; i < last; ++i)
    for (const Finding& one : searches_[i].search.findings())
      add_to(faults,
             {one.scope, one.a, one.b, one.rail + searches_[i].first_rail, one.healthy, {searches_[i].quality}});
  // A loss that one of both ends has with all partners proves nothing of the link between them.
  std::vector<bool> ends(searches_.front().search.posterior().topology().nodes, false);
  for (const Fault& fault : faults)
    if (fault.scope == Finding::Scope::node || fault.scope == Finding::Scope::nic) ends[fault.a] = true;
  std::erase_if(faults, [&](const Fault& fault) {
    return fault.scope == Finding::Scope::link && (ends[fault.a] || ends[fault.b]);
  });
  return faults;
}

std::vector<Fault> Evidence::faults() const {
  std::vector<std::vector<Fault>> of;
  for (std::size_t first = 0; first < searches_.size(); first += kQualities.size())
    of.push_back(faults_of(first, first + kQualities.size()));
  const auto topology = [&](std::size_t network) -> const Topology& {
    return searches_[network * kQualities.size()].search.posterior().topology();
  };
  std::vector<Fault> all;
  for (std::size_t network = 0; network < of.size(); ++network)
    for (Fault fault : of[network]) {
      // Where the other network finds it healthy, only its end of this network is slow, not the node.
      const auto well = [&](std::size_t other) {
        return other != network && topology(other).has_any(fault.a) &&
               std::none_of(of[other].begin(), of[other].end(), [&](const Fault& f) { return of_node(f, fault.a); });
      };
      if (fault.scope == Finding::Scope::node && topology(network).rails == 1)
        for (std::size_t other = 0; other < of.size(); ++other)
          if (well(other)) fault.scope = Finding::Scope::nic;
      add_to(all, fault);
    }
  return all;
}

double Evidence::usual_rate(unsigned rail) const {
  for (const OneSearch& one : searches_)
    if (one.of(rail)) return one.search.posterior().noise().reference[rail - one.first_rail];
  return 0;
}

}  // namespace headrace::bringup
