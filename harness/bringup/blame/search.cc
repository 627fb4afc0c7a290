// When the evidence is enough: which nodes are accused, which are cleared.
#include "harness/bringup/blame/search.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace headrace::bringup {
namespace {

/// An accusation is no matter of one model alone: that many measurements, and most of them slow.
constexpr unsigned kFewestMeasured = 4;
/// Shares of alpha: nodes and NICs, switches, links.
constexpr double kOfEnds = 0.5, kOfSwitches = 0.25, kOfLinks = 0.25;
constexpr double kOfBeta = 0.2;             // the rest is for effects outside of the model
constexpr double kDoubtfulLink = 0.01;      // measured again with undecided nodes, and where all links are judged
constexpr double kVeryDoubtfulLink = 0.05;  // and above this in a round of its own
constexpr double kBeyondNoise = 2;          // standard deviations
constexpr std::size_t kMostOfLink = 10;     // rates of one link; it stays undecided then

/// As many as possible, the surest first, while the chances of a wrong accusation add up to at most `allowed`.
template <class Wrong>
std::vector<std::size_t> sure_of(std::vector<std::size_t> candidates, double allowed, Wrong wrong) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](std::size_t a, std::size_t b) { return wrong(a) < wrong(b); });
  double sum = 0;
  std::size_t count = 0;
  while (count < candidates.size() && (sum += wrong(candidates[count])) <= allowed) ++count;
  candidates.resize(count);
  return candidates;
}

std::vector<std::size_t> all_of(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// Those that are called healthy: of all that are bad no larger share than kOfBeta * beta is expected among them.
template <class Belief>
std::vector<PartState> cleared(std::size_t count, double beta, Belief belief) {
  double expected = 0.5;
  for (std::size_t i = 0; i < count; ++i) expected += bad(belief(i));
  std::vector<PartState> states(count, PartState::undecided);
  for (const std::size_t i :
       sure_of(all_of(count), kOfBeta * beta * expected, [&](std::size_t one) { return bad(belief(one)); }))
    if (bad(belief(i)) <= beta) states[i] = healthy(belief(i)) <= beta ? PartState::slower : PartState::cleared;
  return states;
}

}  // namespace

std::string_view to_string(PartState state) {
  switch (state) {
    case PartState::undecided:
      return "undecided";
    case PartState::cleared:
      return "cleared";
    case PartState::slower:
      return "slower";
    case PartState::accused:
      return "accused";
  }
  return "";
}

Search::Search(Topology topology, const SearchOptions& options)
    : options_(options), posterior_(std::move(topology), options.prior), random_(options.seed) {
  const Topology& of = posterior_.topology();
  nodes_.assign(of.nodes, PartState::undecided);
  in_doubt_.assign(of.nodes, false);
  ends_.assign(of.ends(), PartState::undecided);
  switches_.assign(of.switches(), PartState::undecided);
  for (unsigned node = 0; node < of.nodes; ++node) lost_.push_back(!of.has_any(node));
}

void Search::lose(unsigned node) { lost_[node] = true; }

void Search::avoid(unsigned a, unsigned b) { avoided_.emplace(std::min(a, b), std::max(a, b)); }

PartState Search::node(unsigned number) const {
  const bool well = nodes_[number] == PartState::cleared || nodes_[number] == PartState::slower;
  return well && in_doubt_[number] ? PartState::undecided : nodes_[number];
}

std::vector<unsigned> Search::undecided() const {
  std::vector<unsigned> all;
  for (unsigned node = 0; node < nodes_.size(); ++node)
    if (!lost_[node] && nodes_[node] == PartState::undecided) all.push_back(node);
  return all;
}

void Search::add(std::span<const PairRate> measured) {
  ++rounds_;
  for (const PairRate& one : measured) posterior_.add(one);
  posterior_.update();
  judge();
}

/// Do most of its unaccused partners find it slow? Independent of the model of glitches.
bool Search::agreed(unsigned node, unsigned rail, const std::vector<bool>& accused) const {
  const Topology& of = posterior_.topology();
  const double reference = posterior_.noise().reference[rail], slow_below = reference * (1 - kDelta / 2);
  unsigned all = 0, slow = 0;
  for (const Posterior::Link& link : posterior_.links()) {
    if (link.rail != rail || (link.a != node && link.b != node)) continue;
    if (accused[rail * of.nodes + (link.a == node ? link.b : link.a)]) continue;
    for (const double rate : link.rates) {
      ++all;
      slow += rate < slow_below;
    }
  }
  return all >= kFewestMeasured && 2 * slow > all;
}

std::vector<bool> Search::accused_ends() const {
  const Topology& of = posterior_.topology();
  std::vector<std::size_t> candidates;
  for (std::size_t end = 0; end < of.ends(); ++end)
    if (bad(posterior_.end(end % of.nodes, end / of.nodes)) > 0.5) candidates.push_back(end);
  std::vector<bool> likely(of.ends(), false), accused(of.ends(), false);
  const auto sure = sure_of(std::move(candidates), kOfEnds * options_.alpha,
                            [&](std::size_t end) { return healthy(posterior_.end(end % of.nodes, end / of.nodes)); });
  for (const std::size_t end : sure) likely[end] = true;
  for (const std::size_t end : sure)
    accused[end] = agreed(static_cast<unsigned>(end % of.nodes), static_cast<unsigned>(end / of.nodes), likely);
  return accused;
}

/// The worst rail of the nodes of a switch: the one where most of them are accused.
Search::OfSwitch Search::worst_rail(unsigned leaf, const std::vector<bool>& accused) const {
  const Topology& of = posterior_.topology();
  OfSwitch worst;
  for (unsigned rail = 0; rail < of.rails; ++rail) {
    OfSwitch now;
    for (unsigned node = 0; node < of.nodes; ++node) {
      if (of.leaf(node) != leaf || !of.has(node, rail)) continue;
      ++now.nodes;
      if (!accused[rail * of.nodes + node]) continue;
      ++now.bad;
      now.loss += mean_loss(posterior_.end(node, rail));
    }
    if (rail == 0 || now.bad > worst.bad) worst = now;
  }
  return worst;
}

/// Are most of its rates lower than noise explains?
bool Search::mostly_below_noise(const Posterior::Link& link) const {
  const Noise& noise = posterior_.noise();
  const double below = noise.reference[link.rail] * (1 - std::max(kDelta / 2, kBeyondNoise * noise.spread));
  const auto low = std::count_if(link.rates.begin(), link.rates.end(), [&](double rate) { return rate < below; });
  return 2 * static_cast<std::size_t>(low) > link.rates.size();
}

void Search::judge() {
  const Topology& of = posterior_.topology();
  findings_.clear();
  const std::vector<bool> accused = accused_ends();
  ends_ = cleared(of.ends(), options_.beta, [&](std::size_t end) -> const Weights& {
    return posterior_.end(static_cast<unsigned>(end % of.nodes), static_cast<unsigned>(end / of.nodes));
  });
  for (std::size_t end = 0; end < of.ends(); ++end)
    if (accused[end]) ends_[end] = PartState::accused;
  for (const unsigned end : of.absent)  // rates of a node that has gone still count
    if (ends_[end] != PartState::accused) ends_[end] = PartState::cleared;

  // A switch whose way out is slow, and one most of whose nodes are slow with each other, too.
  std::vector<std::size_t> candidates;
  for (std::size_t one = 0; one < switches_.size(); ++one)
    if (bad(posterior_.leaf_switch(one)) > 0.5) candidates.push_back(one);
  switches_ = cleared(switches_.size(), options_.beta, [&](std::size_t one) -> const Weights& {
    return posterior_.leaf_switch(static_cast<unsigned>(one));
  });
  std::vector<bool> slow_switch(switches_.size(), false);
  for (const std::size_t one : sure_of(std::move(candidates), kOfSwitches * options_.alpha,
                                       [&](std::size_t s) { return healthy(posterior_.leaf_switch(s)); }))
    slow_switch[one] = true;
  for (unsigned one = 0; one < switches_.size(); ++one) {
    const auto [nodes, bad_nodes, loss] = worst_rail(one, accused);
    const bool as_a_whole = bad_nodes >= 4 && 3 * bad_nodes >= 2 * nodes;
    const Weights& belief = posterior_.leaf_switch(one);
    if (slow_switch[one] || as_a_whole) switches_[one] = PartState::accused;
    if (switches_[one] == PartState::accused)
      findings_.push_back({Finding::Scope::switch_fabric, one, 0, 0, as_a_whole ? loss / bad_nodes : mean_loss(belief),
                           as_a_whole ? 0 : healthy(belief)});
    slow_switch[one] = as_a_whole;
  }

  for (unsigned node = 0; node < of.nodes; ++node) {
    unsigned rails = 0, slow = 0, undecided = 0, slower = 0;
    double loss = 0, wrong = 0;
    for (unsigned rail = 0; rail < of.rails; ++rail) {
      rails += of.has(node, rail);
      const PartState state = ends_[rail * of.nodes + node];
      undecided += state == PartState::undecided;
      slower += state == PartState::slower;
      if (state != PartState::accused) continue;
      ++slow;
      loss += mean_loss(posterior_.end(node, rail));
      wrong = std::max(wrong, healthy(posterior_.end(node, rail)));
    }
    nodes_[node] = slow > 0        ? PartState::accused
                   : undecided > 0 ? PartState::undecided
                   : slower > 0    ? PartState::slower
                                   : PartState::cleared;
    if (slow == 0 || (of.leaf(node) != kNoSwitch && slow_switch[of.leaf(node)])) continue;
    if (slow == rails) {
      findings_.push_back({Finding::Scope::node, node, 0, 0, loss / slow, wrong});
      continue;
    }
    for (unsigned rail = 0; rail < of.rails; ++rail)
      if (ends_[rail * of.nodes + node] == PartState::accused)
        findings_.push_back({Finding::Scope::nic, node, 0, rail, mean_loss(posterior_.end(node, rail)),
                             healthy(posterior_.end(node, rail))});
  }

  const auto& links = posterior_.links();
  const double doubtful = undecided().empty() && !options_.every_link ? kVeryDoubtfulLink : kDoubtfulLink;
  candidates.clear();
  doubtful_links_.clear();
  std::vector<std::size_t> open;  // most of their rates are low, and every link is judged
  for (std::size_t i = 0; i < links.size(); ++i) {
    const Posterior::Link& link = links[i];
    const std::size_t first = link.rail * of.nodes;
    if (lost_[link.a] || lost_[link.b] || accused[first + link.a] || accused[first + link.b]) continue;
    const double slow_below = posterior_.noise().reference[link.rail] * (1 - kDelta / 2);
    const auto slow = static_cast<std::size_t>(
        std::count_if(link.rates.begin(), link.rates.end(), [&](double rate) { return rate < slow_below; }));
    if (options_.every_link && mostly_below_noise(link))
      open.push_back(i);
    else if (link.doubt < doubtful)
      continue;
    const bool sure_of_ends =
        ends_[first + link.a] != PartState::undecided && ends_[first + link.b] != PartState::undecided;
    if (bad(link.belief) > 0.5 && sure_of_ends && link.rates.size() >= kFewestMeasured && 2 * slow > link.rates.size())
      candidates.push_back(i);
    if (link.rates.size() < kMostOfLink) doubtful_links_.push_back(i);
  }
  for (const std::size_t i : sure_of(std::move(candidates), kOfLinks * options_.alpha,
                                     [&](std::size_t link) { return healthy(links[link].belief); })) {
    findings_.push_back({Finding::Scope::link, links[i].a, links[i].b, links[i].rail, mean_loss(links[i].belief),
                         healthy(links[i].belief)});
    std::erase(doubtful_links_, i);
    std::erase(open, i);
  }
  // Where low rates are frequent, they hide a slow link: its nodes stay undecided.
  in_doubt_.assign(of.nodes, false);
  for (const std::size_t i : open) in_doubt_[links[i].a] = in_doubt_[links[i].b] = true;
}

}  // namespace headrace::bringup
