#include "harness/bringup/posterior.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/bringup/slowest.h"

namespace headrace::bringup {
namespace {

constexpr std::size_t kStates = kLosses.size();
constexpr double kLeastSpread = 0.004;  // however quiet the data are
constexpr double kWide = 3;             // a twentieth of sound rates differ so many times as much
constexpr double kWideShare = 0.05;
constexpr double kGlitch = 0.25;  // how deep glitches go, on the average: exp(-0.25)
constexpr double kFewest = 1e-30;

/// Where a loss puts the logarithm of a rate, and how wide the piece of the grid is that it stands for.
struct Place {
  double at = 0, width = 0;
};

std::array<Place, kStates> places() {
  std::array<Place, kStates> all;
  for (std::size_t i = 0; i < kStates; ++i) all[i].at = std::log1p(-kLosses[i]);
  for (std::size_t i = kBad; i < kStates; ++i)
    all[i].width = (all[i - 1].at - all[std::min(i + 1, kStates - 1)].at) / 2 / std::sqrt(12.0);
  return all;
}

const std::array<Place, kStates> kPlaces = places();

double density(double x, double spread) {
  return std::exp(-x * x / (2 * spread * spread)) / (spread * std::sqrt(2 * M_PI));
}

void normalize(Weights& weights) {
  double sum = 0;
  for (const double one : weights) sum += one;
  for (double& one : weights) one /= sum;
}

Weights from_logs(const Weights& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  Weights weights;
  for (std::size_t i = 0; i < kStates; ++i) weights[i] = std::exp(logs[i] - most);
  normalize(weights);
  return weights;
}

/// Healthy ones differ by 1 %, few by more; a bad one may lose anything.
Weights prior_with(double bad_share) {
  constexpr std::array<double, kBad> kSound{0.94, 0.04, 0.01, 0.006, 0.004};
  Weights prior;
  for (std::size_t i = 0; i < kStates; ++i)
    prior[i] = i < kBad ? (1 - bad_share) * kSound[i] : bad_share / static_cast<double>(kStates - kBad);
  return prior;
}

double quantile(std::vector<double> values, double share) {
  const auto at = static_cast<std::ptrdiff_t>(std::lround(share * static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace

unsigned Topology::switches() const {
  unsigned count = 0;
  for (const unsigned one : switch_of)
    if (one != kNoSwitch) count = std::max(count, one + 1);
  return count;
}

Posterior::Posterior(Topology topology, const Prior& prior) : topology_(std::move(topology)), prior_(prior) {
  noise_.reference.assign(topology_.rails, 0);
  noise_.spread = std::max(prior.noise, kLeastSpread);
  noise_.transient = prior.transient;
  noise_.bad_ends = prior.bad_ends;
  belief_.resize(topology_.ends() + topology_.switches());
  for (unsigned part = 0; part < belief_.size(); ++part) belief_[part] = prior_of(part);
}

Weights Posterior::prior_of(unsigned part) const {
  return prior_with(part < topology_.ends() ? noise_.bad_ends : prior_.bad_switches);
}

void Posterior::add(const PairRate& measured) {
  const unsigned a = std::min(measured.a, measured.b), b = std::max(measured.a, measured.b);
  const unsigned end_a = measured.rail * topology_.nodes + a, end_b = measured.rail * topology_.nodes + b;
  const auto [known, is_new] = index_.try_emplace({end_a, end_b}, links_.size());
  if (is_new) {
    links_.push_back({a, b, measured.rail, {}, {}});
    Factor factor;
    factor.parts[factor.count++] = end_a;
    factor.parts[factor.count++] = end_b;
    if (topology_.apart(a, b)) {
      factor.parts[factor.count++] = topology_.ends() + topology_.leaf(a);
      factor.parts[factor.count++] = topology_.ends() + topology_.leaf(b);
    }
    factors_.push_back(factor);
  }
  links_[known->second].rates.push_back(measured.rate);
}

std::size_t Posterior::meetings(unsigned a, unsigned b) const {
  std::optional<std::size_t> fewest;
  for (unsigned rail = 0; rail < topology_.rails; ++rail) {
    if (!topology_.has(a, rail) || !topology_.has(b, rail)) continue;
    const unsigned first = rail * topology_.nodes;
    const auto found = index_.find({first + std::min(a, b), first + std::max(a, b)});
    const std::size_t times = found == index_.end() ? 0 : links_[found->second].rates.size();
    fewest = std::min(fewest.value_or(times), times);
  }
  return fewest.value_or(0);
}

double Posterior::likelihood(double log_ratio, std::size_t loss) const {
  // What loses more than the grid's most loses that, and what is faster than usual loses nothing, by however much it is.
  const double told = std::clamp(log_ratio, kPlaces.back().at, 4 * noise_.spread);
  const double off = told - kPlaces[loss].at;
  const double spread = std::hypot(noise_.spread, kPlaces[loss].width);
  const double glitch = off < 0 ? std::exp(off / kGlitch) / kGlitch : 0;
  return (1 - noise_.transient) *
             ((1 - kWideShare) * density(off, spread) + kWideShare * density(off, kWide * spread)) +
         noise_.transient * glitch + 1e-9;
}

// Most partners of most nodes are sound, so that what a node reaches with the better half of them is near the usual; one
// partner who is faster than all others is not. Then the middle of the hump around it.
void Posterior::set_reference() {
  for (unsigned rail = 0; rail < topology_.rails; ++rail) {
    std::vector<std::vector<double>> with(topology_.nodes);  // each partner
    std::vector<double> best, all;
    for (const Link& link : links_) {
      if (link.rail != rail || link.rates.empty()) continue;
      for (const double rate : link.rates) all.push_back(std::log(rate));
      for (const unsigned node : {link.a, link.b})
        with[node].push_back(*std::max_element(link.rates.begin(), link.rates.end()));
    }
    for (std::vector<double>& rates : with) {
      if (rates.empty()) continue;
      const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
      std::nth_element(rates.begin(), middle, rates.end());
      best.push_back(*middle);
    }
    if (best.empty()) continue;
    double middle = std::log(quantile(best, 0.6));
    for (int turn = 0; turn < 12; ++turn) {
      std::vector<double> near;
      const double limit = 2.5 * std::max(noise_.spread, 0.01);
      for (const double one : all)
        if (std::abs(one - middle) < limit) near.push_back(one);
      if (near.empty()) break;
      const double next = quantile(near, 0.5);
      if (next == middle) break;
      middle = next;
    }
    noise_.reference[rail] = std::exp(middle);
  }
}

void Posterior::set_likelihoods() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Weights logs{};
    for (const double rate : links_[i].rates)
      for (std::size_t s = 0; s < kStates; ++s)
        logs[s] += std::log(likelihood(std::log(rate / noise_.reference[links_[i].rail]), s));
    const double most = *std::max_element(logs.begin(), logs.end());
    for (std::size_t s = 0; s < kStates; ++s) factors_[i].measured[s] = std::exp(logs[s] - most);
  }
}

void Posterior::propagate() {
  const Weights link_prior = prior_with(prior_.bad_links);
  for (int turn = 0; turn < 6; ++turn) {
    sum_.assign(belief_.size(), {});
    for (unsigned part = 0; part < belief_.size(); ++part) {
      const Weights prior = prior_of(part);
      for (std::size_t s = 0; s < kStates; ++s) sum_[part][s] = std::log(prior[s]);
    }
    for (const Factor& factor : factors_)
      for (unsigned p = 0; p < factor.count; ++p)
        for (std::size_t s = 0; s < kStates; ++s) sum_[factor.parts[p]][s] += factor.message[p][s];
    for (unsigned part = 0; part < belief_.size(); ++part) belief_[part] = from_logs(sum_[part]);
    for (std::size_t f = 0; f < factors_.size(); ++f) {
      Factor& factor = factors_[f];
      std::array<Weights, 4> without;  // what each part is thought to be by all the others
      Slowest parts;
      for (unsigned p = 0; p < factor.count; ++p) {
        for (std::size_t s = 0; s < kStates; ++s) without[p][s] = sum_[factor.parts[p]][s] - factor.message[p][s];
        without[p] = from_logs(without[p]);
        parts.with(without[p]);
      }
      Weights link = seen_with(parts, factor.measured);
      for (std::size_t s = 0; s < kStates; ++s) link[s] *= link_prior[s];
      normalize(link);
      links_[f].belief = link;
      for (unsigned p = 0; p < factor.count; ++p) {
        Slowest others;
        others.with(link_prior);
        for (unsigned o = 0; o < factor.count; ++o)
          if (o != p) others.with(without[o]);
        Weights seen = seen_with(others, factor.measured);
        const double most = *std::max_element(seen.begin(), seen.end());
        for (std::size_t s = 0; s < kStates; ++s)  // halfway, for circles of parts do not swing then
          factor.message[p][s] = 0.5 * factor.message[p][s] + 0.5 * std::log(std::max(seen[s] / most, kFewest));
      }
    }
  }
}

// One step of expectation and maximization: sound pairs tell the reference and the noise.
void Posterior::learn() {
  constexpr double kAsIf = 4;    // what is known beforehand counts as so many rates
  constexpr double kNodes = 20;  // and as so many nodes
  constexpr double kGlitches = 100;
  std::vector<double> moved(topology_.rails, 0), weight(topology_.rails, 0);
  double squares = kAsIf * prior_.noise * prior_.noise, rates = kAsIf, glitches = kGlitches * prior_.transient,
         seen = kGlitches;
  for (std::size_t f = 0; f < factors_.size(); ++f) {
    double sound = links_[f].belief[0];
    for (unsigned p = 0; p < factors_[f].count; ++p) sound *= belief_[factors_[f].parts[p]][0];
    for (const double rate : links_[f].rates) {
      const double off = std::log(rate / noise_.reference[links_[f].rail]);
      const double narrow = (1 - noise_.transient) * (1 - kWideShare) * density(off, noise_.spread);
      const double counts = sound * narrow / likelihood(off, 0);
      moved[links_[f].rail] += counts * off;
      weight[links_[f].rail] += counts;
      squares += counts * off * off;
      rates += counts;
      const double glitch = off < 0 ? noise_.transient * std::exp(off / kGlitch) / kGlitch : 0;
      glitches += sound * glitch / likelihood(off, 0);
      seen += sound;
    }
  }
  for (unsigned rail = 0; rail < topology_.rails; ++rail)
    if (weight[rail] > 0) noise_.reference[rail] *= std::exp(moved[rail] / (weight[rail] + 1));
  noise_.spread = std::clamp(std::sqrt(squares / rates), kLeastSpread, 0.2);
  noise_.transient = std::clamp(glitches / seen, 0.005, 0.15);
  double bad_ends = kNodes * prior_.bad_ends;
  for (unsigned end = 0; end < topology_.ends(); ++end) bad_ends += bad(belief_[end]);
  noise_.bad_ends = std::clamp(bad_ends / (kNodes + topology_.ends()), 0.002, 0.3);
}

void Posterior::update() {
  if (links_.empty()) return;
  set_reference();
  for (int turn = 0; turn < 2; ++turn) {
    set_likelihoods();
    propagate();
    learn();
  }
  set_likelihoods();
  propagate();
}

}  // namespace headrace::bringup
