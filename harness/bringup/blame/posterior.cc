#include "harness/bringup/blame/posterior.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <tuple>

#include "harness/bringup/blame/slowest.h"

namespace headrace::bringup {
namespace {

constexpr std::size_t kStates = kLosses.size();
constexpr double kLeastSpread = 0.004, kMostSpread = 0.2;  // however quiet the data are, or loud
constexpr double kWide = 3;                                // a twentieth of sound rates differ by this factor
constexpr double kWideShare = 0.05;
constexpr double kFewest = 1e-30;
constexpr double kMostTransient = 0.5;
constexpr double kRare = 1e-9;  // the density of unexplained rates

/// The place of a loss as a logarithm of a rate, and the width of its piece of the grid.
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

/// The probability of a rate without a loss.
double usual(double off, double spread) {
  return (1 - kWideShare) * density(off, spread) + kWideShare * density(off, kWide * spread);
}

/// The probability of a rate where a part loses as much as a bad part may, each loss as likely.
double low(double at, double spread) {
  double sum = 0;
  for (std::size_t loss = kBad; loss < kStates; ++loss)
    sum += density(at - kPlaces[loss].at, std::hypot(spread, kPlaces[loss].width));
  return sum / static_cast<double>(kStates - kBad);
}

void normalize(Weights& weights) {
  double sum = 0;
  for (const double one : weights) sum += one;
  for (double& one : weights) one /= sum;
}

/// The weights of these logarithms, normalized; and the logarithm of the sum before.
std::pair<Weights, double> from_logs(const Weights& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  Weights weights;
  for (std::size_t i = 0; i < kStates; ++i) weights[i] = std::exp(logs[i] - most);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& one : weights) one /= sum;
  return {weights, most + std::log(sum)};
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

double upper_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The standard deviation of the values above the middle of a hump, where no bad ones are.
double spread_above(const std::vector<double>& values, double middle) {
  std::vector<double> above;
  for (const double one : values)
    if (one > middle) above.push_back(one - middle);
  return above.empty() ? 0 : quantile(std::move(above), 0.5) / 0.6745;
}

}  // namespace

unsigned Topology::switches() const {
  unsigned count = 0;
  for (const unsigned one : switch_of)
    if (one != kNoSwitch) count = std::max(count, one + 1);
  return count;
}

Posterior::Posterior(Topology topology, const Prior& prior) : topology_(std::move(topology)), prior_(prior) {
  Fit first;
  first.noise.reference.assign(topology_.rails, 0);
  first.noise.spread = std::max(prior.noise, kLeastSpread);
  first.noise.transient = first.noise.most_transient = prior.transient;
  first.noise.bad_ends = prior.bad_ends;
  first.belief.resize(topology_.ends() + topology_.switches());
  first.sum.resize(first.belief.size());
  first.total.resize(first.belief.size());
  fits_.fill(first);
  for (unsigned part = 0; part < first.belief.size(); ++part) fits_[0].belief[part] = prior_of(part);
}

Weights Posterior::prior_of(unsigned part) const {
  return prior_with(part < topology_.ends() ? fit().noise.bad_ends : prior_.bad_switches);
}

void Posterior::add(const PairRate& measured) {
  const unsigned a = std::min(measured.a, measured.b), b = std::max(measured.a, measured.b);
  const unsigned end_a = measured.rail * topology_.nodes + a, end_b = measured.rail * topology_.nodes + b;
  const auto [known, is_new] = index_.try_emplace({end_a, end_b}, links_.size());
  if (is_new) {
    links_.push_back({.a = a, .b = b, .rail = measured.rail, .rates = {}});
    Factor factor;
    factor.parts[factor.count++] = end_a;
    factor.parts[factor.count++] = end_b;
    if (topology_.apart(a, b)) {
      factor.parts[factor.count++] = topology_.ends() + topology_.leaf(a);
      factor.parts[factor.count++] = topology_.ends() + topology_.leaf(b);
    }
    for (Fit& one : fits_) one.factors.push_back(factor);
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

Weights Posterior::likelihood(double log_ratio, OneRate weighs) const {
  // A loss above the grid's greatest counts as that, and a rate above the usual one as no loss.
  const Noise& noise = fit().noise;
  const double at = std::clamp(log_ratio, kPlaces.back().at, 4 * noise.spread);
  const double any = low(at, noise.spread), nothing = usual(at, noise.spread);
  Weights weights;
  for (std::size_t loss = 0; loss < kStates; ++loss) {
    double density = usual(at - kPlaces[loss].at, std::hypot(noise.spread, kPlaces[loss].width));
    if (loss >= kBad)
      density = (1 - prior_.hidden - prior_.scattered) * density + prior_.hidden * nothing + prior_.scattered * any;
    weights[loss] = (1 - noise.transient) * density + noise.transient * any + kRare;
  }
  if (weighs == OneRate::all) return weights;
  const double sound = *std::max_element(weights.begin(), weights.begin() + kBad);
  for (std::size_t loss = kBad; loss < kStates; ++loss)
    weights[loss] = std::min(std::max(weights[loss], sound * noise.most_transient), weights[0] / noise.most_transient);
  return weights;
}

// Most partners of most nodes are sound. A node's rate with the better half of them is near the usual. Its rate with
// the one fastest partner is not.
Posterior::Rates Posterior::rates_of(unsigned rail) const {
  Rates rates;
  std::vector<std::vector<double>> with(topology_.nodes);  // each partner
  for (const Link& link : links_) {
    if (link.rail != rail || link.rates.empty()) continue;
    for (const double rate : link.rates) rates.all.push_back(std::log(rate));
    for (const unsigned node : {link.a, link.b})
      with[node].push_back(std::log(*std::max_element(link.rates.begin(), link.rates.end())));
  }
  for (std::vector<double>& some : with)
    if (!some.empty()) rates.better_half.push_back(upper_median(some));
  return rates;
}

// The middle of the hump around it.
void Posterior::begin_at_most_rates() {
  for (unsigned rail = 0; rail < topology_.rails; ++rail) {
    const Rates rates = rates_of(rail);
    if (rates.all.empty()) continue;
    double middle = quantile(rates.better_half, 0.6);
    const double limit = 2.5 * std::max(fit().noise.spread, 0.01);
    for (int turn = 0; turn < 12; ++turn) {
      std::vector<double> near;
      for (const double one : rates.all)
        if (std::abs(one - middle) < limit) near.push_back(one);
      if (near.empty()) break;
      const double next = quantile(near, 0.5);
      if (next == middle) break;
      middle = next;
    }
    fit().noise.reference[rail] = std::exp(middle);
  }
}

// Where many nodes are bad, the humps of bad and sound ones look like one hump with more noise. No bad rate is above
// the middle of the upper one.
void Posterior::begin_at_fast_rates() {
  fit().noise.spread = kLeastSpread;
  for (unsigned rail = 0; rail < topology_.rails; ++rail) {
    const Rates rates = rates_of(rail);
    if (rates.all.empty()) continue;
    const double middle = quantile(rates.better_half, 0.75);
    fit().noise.reference[rail] = std::exp(middle);
    fit().noise.spread = std::clamp(spread_above(rates.all, middle), fit().noise.spread, kMostSpread);
  }
}

void Posterior::set_likelihoods(OneRate weighs) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    Weights logs{};
    for (const double rate : links_[i].rates) {
      const Weights reported = likelihood(std::log(rate / fit().noise.reference[links_[i].rail]), weighs);
      for (std::size_t s = 0; s < kStates; ++s) logs[s] += std::log(reported[s]);
    }
    const double most = *std::max_element(logs.begin(), logs.end());
    for (std::size_t s = 0; s < kStates; ++s) fit().factors[i].measured[s] = std::exp(logs[s] - most);
    fit().factors[i].most = most;
  }
}

/// Messages, and the belief on each part from all of them.
void Posterior::add_up() {
  Fit& now = fit();
  for (unsigned part = 0; part < now.belief.size(); ++part) {
    const Weights prior = prior_of(part);
    for (std::size_t s = 0; s < kStates; ++s) now.sum[part][s] = std::log(prior[s]);
  }
  for (const Factor& factor : now.factors)
    for (unsigned p = 0; p < factor.count; ++p)
      for (std::size_t s = 0; s < kStates; ++s) now.sum[factor.parts[p]][s] += factor.message[p][s];
  now.evidence = 0;
  for (unsigned part = 0; part < now.belief.size(); ++part) {
    std::tie(now.belief[part], now.total[part]) = from_logs(now.sum[part]);
    now.evidence += now.total[part];
  }
}

/// New messages from a link to its parts.
void Posterior::send(Factor& factor, const Weights& link_prior) {
  std::array<Weights, 4> without;  // the belief on each part from all the others
  Slowest parts;
  factor.sound = 1 - prior_.bad_links;
  for (unsigned p = 0; p < factor.count; ++p) {
    for (std::size_t s = 0; s < kStates; ++s) without[p][s] = fit().sum[factor.parts[p]][s] - factor.message[p][s];
    double total = 0;
    std::tie(without[p], total) = from_logs(without[p]);
    factor.sound *= 1 - bad(without[p]);
    parts.with(without[p]);
    fit().evidence -= fit().total[factor.parts[p]] - total;
  }
  factor.link = seen_with(parts, factor.measured);
  for (std::size_t s = 0; s < kStates; ++s) factor.link[s] *= link_prior[s];
  fit().evidence += factor.most + std::log(std::accumulate(factor.link.begin(), factor.link.end(), 0.0));
  normalize(factor.link);
  for (unsigned p = 0; p < factor.count; ++p) {
    Slowest others;
    others.with(link_prior);
    for (unsigned o = 0; o < factor.count; ++o)
      if (o != p) others.with(without[o]);
    const Weights seen = seen_with(others, factor.measured);
    const double most = *std::max_element(seen.begin(), seen.end());
    for (std::size_t s = 0; s < kStates; ++s)  // halfway, for circles of parts do not swing then
      factor.message[p][s] = 0.5 * factor.message[p][s] + 0.5 * std::log(std::max(seen[s] / most, kFewest));
  }
}

void Posterior::propagate(OneRate weighs) {
  set_likelihoods(weighs);
  const Weights link_prior = prior_with(prior_.bad_links);
  for (int turn = 0; turn < 6; ++turn) {
    add_up();
    for (Factor& factor : fit().factors) send(factor, link_prior);
  }
}

// One step of expectation and maximization: sound pairs report the reference and the noise.
void Posterior::learn() {
  constexpr double kAsIf = 4;    // prior knowledge counts as that many rates
  constexpr double kNodes = 20;  // and as that many nodes
  constexpr double kTransients = 20;
  Noise& noise = fit().noise;
  std::vector<double> moved(topology_.rails, 0), weight(topology_.rails, 0);
  double squares = kAsIf * prior_.noise * prior_.noise, rates = kAsIf, transients = kTransients * prior_.transient,
         seen = kTransients;
  for (std::size_t f = 0; f < links_.size(); ++f) {
    const Factor& factor = fit().factors[f];
    const unsigned rail = links_[f].rail;
    double sound = factor.link[0];
    for (unsigned p = 0; p < factor.count; ++p) sound *= fit().belief[factor.parts[p]][0];
    double odds = 0;                              // that its parts are sound, by all measurements; a logarithm
    std::vector<std::pair<double, double>> each;  // of each rate: how likely it is where they are sound, and where not
    for (const double rate : links_[f].rates) {
      const double off = std::log(rate / noise.reference[rail]);
      const double narrow = (1 - noise.transient) * (1 - kWideShare) * density(off, noise.spread);
      const double ill = low(off, noise.spread) + kRare;
      const double well = (1 - noise.transient) * usual(off, noise.spread) + noise.transient * ill + kRare;
      const double counts = sound * narrow / well;
      moved[rail] += counts * off;
      weight[rail] += counts;
      squares += counts * off * off;
      rates += counts;
      each.emplace_back(well, ill);
      odds += std::log(well / ill);
    }
    // All other rates decide whether one is low for once: alone it makes its parts suspect.
    odds += std::log(std::max(factor.sound, kFewest) / (1 - factor.sound));
    for (const auto& [well, ill] : each) {
      const double by_others = 1 / (1 + std::exp(std::log(well / ill) - odds));
      const double all = by_others * well + (1 - by_others) * ill;
      transients += by_others * noise.transient * ill / all;
      seen += by_others * well / all;
    }
  }
  for (unsigned rail = 0; rail < topology_.rails; ++rail)
    if (weight[rail] > 0) noise.reference[rail] *= std::exp(moved[rail] / (weight[rail] + 1));
  noise.spread = std::clamp(std::sqrt(squares / rates), kLeastSpread, kMostSpread);
  noise.transient = std::clamp(transients / seen, 0.005, kMostTransient);
  const double error = std::sqrt(noise.transient * (1 - noise.transient) / seen);
  noise.most_transient = std::min(noise.transient + error, kMostTransient);
  double bad_ends = kNodes * prior_.bad_ends;
  for (unsigned end = 0; end < topology_.ends(); ++end) bad_ends += bad(fit().belief[end]);
  noise.bad_ends = std::clamp(bad_ends / (kNodes + topology_.ends()), 0.002, 0.3);
}

// Expectation and maximization end at one of several answers, by where they begin: two beginnings, and the likelier answer.
void Posterior::update() {
  if (links_.empty()) return;
  for (at_ = 0; at_ < fits_.size(); ++at_) {
    at_ == 0 ? begin_at_most_rates() : begin_at_fast_rates();
    for (int turn = 0; turn < 2; ++turn) {
      propagate(OneRate::all);
      learn();
    }
    propagate(OneRate::all);
  }
  at_ = fits_[0].evidence > fits_[1].evidence ? 0 : 1;
  for (std::size_t f = 0; f < links_.size(); ++f) links_[f].doubt = bad(fit().factors[f].link);
  propagate(OneRate::bounded);
  for (std::size_t f = 0; f < links_.size(); ++f) links_[f].belief = fit().factors[f].link;
}

}  // namespace headrace::bringup
