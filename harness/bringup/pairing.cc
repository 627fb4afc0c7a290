// Which pairs to measure next: at first every node with another, then undecided nodes with cleared ones.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "harness/bringup/blame/search.h"
#include "harness/bringup/blame/slowest.h"

namespace headrace::bringup {
namespace {

constexpr unsigned kTried = 12;          // partners that are looked at for one node, near and far each
constexpr std::size_t kOfALink = 3;      // rates, before its ends are looked at again by turns
constexpr unsigned kPairsOfASwitch = 4;  // a round, of one that is undecided
constexpr double kManyTransients = 0.05;

double entropy(const Weights& probability) {
  double sum = 0;
  for (const double p : probability)
    if (p > 0) sum -= p * std::log2(p);
  return sum;
}

}  // namespace

/// The expected information of a rate between both about the first one [bit]. A round takes the same time for any pair.
double Search::information(unsigned about, unsigned with) const {
  const Topology& of = posterior_.topology();
  unsigned rail = 0;  // the one that least is known of
  for (unsigned other = 1; other < of.rails; ++other)
    if (of.has(about, other) && of.has(with, other) &&
        entropy(posterior_.end(about, other)) > entropy(posterior_.end(about, rail)))
      rail = other;
  Slowest others;
  others.with(posterior_.end(with, rail));
  if (of.apart(about, with)) {
    others.with(posterior_.leaf_switch(of.leaf(about)));
    others.with(posterior_.leaf_switch(of.leaf(with)));
  }
  // Rates at the places of the grid represent all.
  const Weights& own = posterior_.end(about, rail);
  std::array<Weights, kLosses.size()> reported{};  // [own loss][rate]
  for (std::size_t rate = 0; rate < own.size(); ++rate) {
    const Weights seen = seen_with(others, posterior_.likelihood(std::log1p(-kLosses[rate])));
    for (std::size_t loss = 0; loss < own.size(); ++loss) reported[loss][rate] = seen[loss];
  }
  Weights all{};
  double known = 0;
  for (std::size_t loss = 0; loss < own.size(); ++loss) {
    const double sum = std::accumulate(reported[loss].begin(), reported[loss].end(), 0.0);
    for (std::size_t rate = 0; rate < own.size(); ++rate) all[rate] += own[loss] * (reported[loss][rate] /= sum);
    known += own[loss] * entropy(reported[loss]);
  }
  return entropy(all) - known;
}

/// Every node meets a new one. Alternates between another switch and the own one: a slow switch and slow nodes look
/// alike from outside.
Round Search::random_matching() {
  const Topology& of = posterior_.topology();
  std::vector<unsigned> order;
  for (unsigned node = 0; node < of.nodes; ++node)
    if (!lost_[node]) order.push_back(node);
  shuffle(std::span(order), random_);
  const bool far = rounds_ % 2 == 0;
  Round round;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == kNoSwitch) continue;
    std::optional<std::size_t> best;
    int best_score = -1;
    for (std::size_t j = i + 1; j < order.size() && best_score < 3; ++j) {
      if (order[j] == kNoSwitch || avoided(order[i], order[j])) continue;
      const int score = (posterior_.meetings(order[i], order[j]) == 0 ? 2 : 0) +
                        (of.apart(order[i], order[j]) == far || of.switches() == 0 ? 1 : 0);
      if (score > best_score) best = j, best_score = score;
    }
    if (!best) continue;
    round.emplace_back(std::min(order[i], order[*best]), std::max(order[i], order[*best]));
    order[*best] = kNoSwitch;
  }
  return round;
}

/// The free node that reports most about `about`; `about` itself: none is free.
unsigned Search::partner_of(unsigned node, const std::vector<bool>& taken) const {
  const Topology& of = posterior_.topology();
  Random draw(options_.seed ^ (std::uint64_t{node} << 32) ^ rounds_);
  unsigned best = node, near = 0, distant = 0;
  double most = -1;
  for (const bool cleared : {true, false}) {
    const std::uint64_t start = draw.below(of.nodes);
    for (unsigned i = 0; i < of.nodes && (near < kTried || distant < kTried); ++i) {
      const auto other = static_cast<unsigned>((start + i) % of.nodes);
      if (other == node || taken[other] || lost_[other] || avoided(node, other) ||
          nodes_[other] == PartState::accused || (nodes_[other] == PartState::cleared) != cleared)
        continue;
      unsigned& tried = of.apart(node, other) ? distant : near;
      if (tried >= kTried) continue;
      // A partner that it met before reports less: the path between both is the same.
      const double gain = information(node, other) / (1.0 + static_cast<double>(posterior_.meetings(node, other)));
      ++tried;
      if (gain > most) best = other, most = gain;
    }
    if (best != node) break;
  }
  return best;
}

Round Search::chosen_pairs() {
  const Topology& of = posterior_.topology();
  Round round;
  std::vector<bool> taken(of.nodes, false);
  const auto meet = [&](unsigned a, unsigned b) {
    round.emplace_back(std::min(a, b), std::max(a, b));
    taken[a] = taken[b] = true;
  };
  for (const std::size_t i : doubtful_links_) {
    const auto& link = posterior_.links()[i];
    const auto known = [&](unsigned node) { return nodes_[node] != PartState::undecided; };
    if (!known(link.a) || !known(link.b) || taken[link.a] || taken[link.b] || avoided(link.a, link.b)) continue;
    if (link.rates.size() < kOfALink || rounds_ % 2 == 0) {
      meet(link.a, link.b);
      continue;
    }
    // It is slow again and again: by the way between them, or by one of both?
    for (const unsigned node : {link.a, link.b})
      if (const unsigned partner = partner_of(node, taken); partner != node) meet(node, partner);
  }
  const auto doubt = [&](unsigned node) {
    double most = 0;
    for (unsigned rail = 0; rail < of.rails; ++rail)
      if (of.has(node, rail)) most = std::max(most, entropy(posterior_.end(node, rail)));
    return most;
  };
  std::vector<std::pair<double, unsigned>> order;
  for (const unsigned node : undecided()) order.emplace_back(-doubt(node), node);
  std::sort(order.begin(), order.end());
  for (const auto& [minus_doubt, node] : order) {
    if (taken[node]) continue;
    if (const unsigned partner = partner_of(node, taken); partner != node) meet(node, partner);
  }
  for (unsigned one = 0; one < switches_.size(); ++one) {
    if (switches_[one] != PartState::undecided) continue;
    unsigned pairs = 0;
    for (unsigned node = 0; node < of.nodes && pairs < kPairsOfASwitch; ++node) {
      if (taken[node] || lost_[node] || of.leaf(node) != one || nodes_[node] != PartState::cleared) continue;
      const std::uint64_t start = random_.below(of.nodes);
      for (unsigned i = 0; i < of.nodes; ++i) {
        const auto other = static_cast<unsigned>((start + i) % of.nodes);
        if (taken[other] || lost_[other] || nodes_[other] != PartState::cleared || !of.apart(node, other) ||
            avoided(node, other) || switches_[of.leaf(other)] == PartState::accused)
          continue;
        meet(node, other);
        ++pairs;
        break;
      }
    }
  }
  return round;
}

/// Each free node meets one that it never met; those first who have most of them left.
void Search::add_unmet(Round& round) const {
  const Topology& of = posterior_.topology();
  std::vector<bool> taken(of.nodes, false);
  for (const auto& [a, b] : round) taken[a] = taken[b] = true;
  const auto takes_part = [&](unsigned node) { return !lost_[node] && nodes_[node] != PartState::accused; };
  const auto unmet = [&](unsigned a, unsigned b) {
    return a != b && takes_part(b) && !avoided(a, b) && posterior_.meetings(a, b) == 0;
  };
  std::vector<std::pair<unsigned, unsigned>> order;  // that many are left, of this node
  for (unsigned a = 0; a < of.nodes; ++a) {
    if (!takes_part(a)) continue;
    unsigned left = 0;
    for (unsigned b = 0; b < of.nodes; ++b) left += unmet(a, b);
    if (left > 0) order.emplace_back(left, a);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  for (const auto& [left, a] : order)
    for (const auto& [other_left, b] : order) {
      if (taken[a]) break;
      if (taken[b] || !unmet(a, b)) continue;
      round.emplace_back(std::min(a, b), std::max(a, b));
      taken[a] = taken[b] = true;
    }
}

/// A loss of a switch or a link first looks like one of its ends. Separating them takes more rounds, and so does a low
/// outlier. Else few nodes are undecided after half of the rounds, and near delta others report little of them.
bool Search::rounds_left() const {
  const auto cleared = [](PartState state) { return state == PartState::cleared || state == PartState::slower; };
  const bool more_than_nodes = !std::all_of(switches_.begin(), switches_.end(), cleared) ||
                               std::any_of(posterior_.links().begin(), posterior_.links().end(),
                                           [](const Posterior::Link& link) { return bad(link.belief) > 0.5; });
  const bool slow = more_than_nodes || posterior_.noise().transient > kManyTransients;
  std::size_t most = slow ? options_.most_rounds : (options_.most_rounds + 1) / 2;
  if (options_.every_link) most += 2 * static_cast<std::size_t>(std::count(lost_.begin(), lost_.end(), false));
  return rounds_ < options_.before + most;
}

Round Search::next() {
  if (!rounds_left()) return {};
  const std::size_t left = undecided().size();
  const auto there = static_cast<std::size_t>(std::count(lost_.begin(), lost_.end(), false));
  Round round;
  if (rounds_ >= 2 && 3 * left <= there)
    round = chosen_pairs();
  else if (left > 0)
    round = random_matching();
  if (options_.every_link) add_unmet(round);
  return round;
}

}  // namespace headrace::bringup
