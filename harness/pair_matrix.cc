#include "harness/pair_matrix.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/units.h"

namespace headrace {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return -1;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// The slower of both ways, as far as they were measured; below 0 = neither was.
double between(const PairMatrix& m, std::size_t a, std::size_t b) {
  const double there = m.rate[a][b], back = m.rate[b][a];
  if (there < 0 || back < 0) return std::max(there, back);
  return std::min(there, back);
}

std::string rate_text(double rate) { return format_quantity(rate, Dimension::bytes_per_second); }

}  // namespace

PairRounds all_pairs_rounds(unsigned n) {
  const unsigned seats = n + n % 2;  // an odd one out rests with a seat that nobody has
  PairRounds rounds;
  for (unsigned r = 0; r + 1 < seats; ++r) {
    auto& round = rounds.emplace_back();
    const auto seat = [&](unsigned i) { return i == 0 ? 0 : 1 + (i - 1 + r) % (seats - 1); };
    for (unsigned i = 0; i < seats / 2; ++i) {
      const unsigned a = seat(i), b = seat(seats - 1 - i);
      if (a < n && b < n) round.emplace_back(std::min(a, b), std::max(a, b));
    }
  }
  return rounds;
}

PairRounds ring_rounds(unsigned n) {
  PairRounds rounds(n <= 2 ? 1 : 2 + n % 2);
  for (unsigned i = 0; i < (n == 2 ? 1 : n); ++i) {
    const bool closing = n % 2 == 1 && i + 1 == n;
    rounds[closing ? 2 : i % 2].emplace_back(i, (i + 1) % n);
  }
  return rounds;
}

PairRounds bisection_rounds(unsigned n) {
  PairRounds rounds(1);
  for (unsigned i = 0; i < n / 2; ++i) rounds[0].emplace_back(i, i + n / 2);
  return rounds;
}

Blame blame(const PairMatrix& matrix, double share) {
  const std::size_t n = matrix.names.size();
  Blame found;
  std::vector<double> best;
  for (std::size_t a = 0; a < n; ++a) {
    double most = -1;
    for (std::size_t b = 0; b < n; ++b)
      if (a != b) most = std::max(most, between(matrix, a, b));
    if (most >= 0) best.push_back(most);
  }
  if (best.size() < 2) return found;
  found.reference = median(best);
  const auto slow = [&](double rate) { return rate >= 0 && rate < share * found.reference; };

  std::vector<bool> blamed(n, false);
  for (;;) {
    std::size_t worst = n, worst_slow = 0, worst_all = 1;
    for (std::size_t a = 0; a < n; ++a) {
      if (blamed[a]) continue;
      std::size_t all = 0, bad = 0;
      for (std::size_t b = 0; b < n; ++b) {
        if (a == b || blamed[b] || between(matrix, a, b) < 0) continue;
        ++all;
        bad += slow(between(matrix, a, b));
      }
      if (bad < 3 || 2 * bad <= all) continue;
      if (bad * worst_all > worst_slow * all) {
        worst = a;
        worst_slow = bad;
        worst_all = all;
      }
    }
    if (worst == n) break;
    blamed[worst] = true;
    found.nodes.push_back(static_cast<unsigned>(worst));
  }
  std::sort(found.nodes.begin(), found.nodes.end());
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t b = 0; b < n; ++b) {
      if (a != b && !blamed[a] && !blamed[b] && slow(matrix.rate[a][b]))
        found.links.emplace_back(static_cast<unsigned>(a), static_cast<unsigned>(b));
    }
  }
  return found;
}

PairMatrix median_matrix(const std::vector<const PairMatrix*>& several) {
  if (several.empty()) return {};
  PairMatrix middle(several.front()->names);
  for (std::size_t a = 0; a < middle.names.size(); ++a) {
    for (std::size_t b = 0; b < middle.names.size(); ++b) {
      std::vector<double> values;
      for (const PairMatrix* m : several)
        if (m->names == middle.names && m->rate[a][b] >= 0) values.push_back(m->rate[a][b]);
      middle.rate[a][b] = median(values);
    }
  }
  return middle;
}

std::vector<std::string> told(const Blame& blame, const PairMatrix& matrix) {
  std::vector<std::string> lines;
  for (const unsigned node : blame.nodes) {
    std::vector<double> rates;
    for (unsigned other = 0; other < matrix.names.size(); ++other)
      if (other != node && between(matrix, node, other) >= 0)
        rates.push_back(between(matrix, node, other));
    lines.push_back(fmt::format("slow node: {}: {} with its {} partners, where others reach {}",
                                matrix.names[node], rate_text(median(rates)), rates.size(),
                                rate_text(blame.reference)));
  }
  for (const auto& [from, to] : blame.links)
    lines.push_back(fmt::format("slow link: {} to {}: {}, where others reach {}",
                                matrix.names[from], matrix.names[to],
                                rate_text(matrix.rate[from][to]), rate_text(blame.reference)));
  return lines;
}

}  // namespace headrace
