#include "harness/analysis/simulate/supply.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/analysis/simulate/fluid.h"
#include "harness/engine/explain/scaling.h"

namespace headrace::simulate {
namespace {

/// 95 % of a normal distribution are below that many deviations.
constexpr double kBound = 1.6449;

double quantile_of(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

}  // namespace

bool stopped_growing(const Counts& counts) {
  std::vector<double> clients;
  for (const auto& [count, rate] : counts) clients.push_back(count);
  const auto& [fewer, their_rate] = counts[count_to_hold_against(clients)];
  return headrace::stopped_growing(fewer, their_rate, counts.back().first, counts.back().second);
}

Quantiles quantiles_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {quantile_of(values, 0.05), quantile_of(values, 0.5), quantile_of(values, 0.95)};
}

Quantiles expected_rate(const Supply& supply, double clients) {
  std::vector<double> rates(kSeeds);
  for (unsigned i = 0; i < kSeeds; ++i) {
    Random random(mix(mix(kSeed) + i));
    const Course course(supply, random);
    rates[i] = clients * std::min(course.client(), fill_level({course.client()}, {clients}, course.at(clients)));
  }
  return quantiles_of(std::move(rates));
}

double uniform(Random& random) { return std::ldexp(static_cast<double>(random.next() >> 11), -53); }

double normal(Random& random) {
  const double length = std::sqrt(-2 * std::log(1 - uniform(random)));
  return length * std::cos(2 * std::numbers::pi * uniform(random));
}

double Supply::shown_to() const {
  if (most > 0 || saturated) return HUGE_VAL;
  return measured.empty() ? 0 : measured.back().clients;
}

Course::Course(const Supply& supply, Random& random)
    : store_times_(supply.store_times),
      client_times_(supply.client_times),
      most_(supply.most > 0 ? supply.most * supply.store_times : HUGE_VAL) {
  for (const Counted& c : supply.measured) {
    const double spread = c.low > 0 ? std::log(c.high / c.low) / (2 * kBound) : 0;
    const double rate = c.rate * std::exp(spread * normal(random));
    counts_.emplace_back(c.clients, rate);
    client_ = std::max(client_, rate / c.clients);
  }
  if (supply.client > 0) client_ = counts_.empty() ? supply.client : std::min(client_, supply.client);
  client_ *= client_times_;
  growth_ = uniform(random);
  if (counts_.size() < 2) return;
  saturated_ = supply.saturated && stopped_growing(counts_);
  // Least squares of n / X(n) over n - 1.
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [clients, rate] : counts_) {
    const double at = clients - 1, cost = clients / rate;
    n += 1;
    x += at;
    y += cost;
    xx += at * at;
    xy += at * cost;
  }
  b_ = std::max(0.0, (n * xy - x * y) / (n * xx - x * x));
  a_ = (y - b_ * x) / n;
}

double Course::at(double clients) const {
  if (counts_.empty()) return most_;
  // Faster clients are as more of them; a faster store gives as much to each of more.
  return std::min(most_, store_times_ * measured_at(clients * client_times_ / store_times_));
}

double Course::measured_at(double clients) const {
  const auto& [least, first] = counts_.front();
  const auto& [largest, last] = counts_.back();
  if (clients <= least) return first * clients / least;
  if (clients <= largest) {
    const auto above = std::ranges::lower_bound(counts_, clients, {}, &std::pair<double, double>::first);
    const auto below = std::prev(above);
    return below->second + (above->second - below->second) * (clients - below->first) / (above->first - below->first);
  }
  if (saturated_) return last;
  const auto law = [this](double count) { return count / (a_ + b_ * (count - 1)); };
  const double least_growth = counts_.size() < 2 ? 1 : law(clients) / law(largest);
  return last * std::pow(least_growth, 1 - growth_) * std::pow(clients / largest, growth_);
}

}  // namespace headrace::simulate
