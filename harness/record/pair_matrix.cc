#include "harness/record/pair_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/units.h"

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

/// From so many ends on pairs tell how much healthy ones differ. Most pairs of a healthy node never lie 2.5 deviations off.
constexpr std::size_t kManyEnds = 8;
constexpr double kLeastLoss = 0.05, kDeviations = 2.5, kLeastSpread = 0.005;

/// Below which rate a node's pairs are slow; `otherwise` where too few ends tell.
double slow_node_below(const PairMatrix& matrix, std::size_t first, std::size_t last, double otherwise) {
  if (last - first < kManyEnds) return otherwise;
  std::vector<double> rates, away;
  for (std::size_t a = first; a < last; ++a)
    for (std::size_t b = a + 1; b < last; ++b)
      if (between(matrix, a, b) >= 0) rates.push_back(between(matrix, a, b));
  const double middle = median(rates);
  for (const double rate : rates) away.push_back(std::abs(rate - middle));
  const double spread = std::max(1.4826 * median(away), kLeastSpread * middle);
  return std::max(otherwise, std::min((1 - kLeastLoss) * middle, middle - kDeviations * spread));
}

/// Who is to blame among the ends from `first` to before `last`, added to `found`; their reference.
double blame_among(const PairMatrix& matrix, std::size_t first, std::size_t last, double share, Blame& found) {
  std::vector<double> best;
  for (std::size_t a = first; a < last; ++a) {
    double most = -1;
    for (std::size_t b = first; b < last; ++b)
      if (a != b) most = std::max(most, between(matrix, a, b));
    if (most >= 0) best.push_back(most);
  }
  if (best.size() < 2) return 0;
  const double reference = median(best);
  const auto slow = [&](double rate) { return rate >= 0 && rate < share * reference; };
  const double node_below = slow_node_below(matrix, first, last, share * reference);

  std::vector<bool> blamed(last, false);
  for (;;) {
    std::size_t worst = last, worst_slow = 0, worst_all = 1;
    for (std::size_t a = first; a < last; ++a) {
      if (blamed[a]) continue;
      std::size_t all = 0, bad = 0;
      for (std::size_t b = first; b < last; ++b) {
        if (a == b || blamed[b] || between(matrix, a, b) < 0) continue;
        ++all;
        bad += between(matrix, a, b) < node_below;
      }
      if (bad < 3 || 2 * bad <= all) continue;
      if (bad * worst_all > worst_slow * all) {
        worst = a;
        worst_slow = bad;
        worst_all = all;
      }
    }
    if (worst == last) break;
    blamed[worst] = true;
  }
  for (std::size_t a = first; a < last; ++a) {
    if (blamed[a]) found.nodes.push_back(static_cast<unsigned>(a));
    for (std::size_t b = first; b < last; ++b) {
      if (a != b && !blamed[a] && !blamed[b] && slow(matrix.rate[a][b]))
        found.links.emplace_back(static_cast<unsigned>(a), static_cast<unsigned>(b));
    }
  }
  return reference;
}

/// The node of an end: "node3" of "node3 eth1".
std::string node_of(const PairMatrix& matrix, std::size_t end) {
  const std::string& name = matrix.names[end];
  if (matrix.rails.empty()) return name;
  return name.substr(0, name.size() - matrix.rails[end / matrix.ends_of_rail()].size() - 1);
}

/// Are all rails of the node slow of which this is an end?
bool on_all_rails(const Blame& blame, const PairMatrix& matrix, unsigned end) {
  const std::size_t ends = matrix.ends_of_rail();
  for (std::size_t other = end % ends; other < matrix.names.size(); other += ends)
    if (std::find(blame.nodes.begin(), blame.nodes.end(), other) == blame.nodes.end()) return false;
  return matrix.rails.size() > 1;
}

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

PairRounds rails_rounds(unsigned nodes, unsigned rails, bool at_once) {
  const PairRounds one = all_pairs_rounds(nodes);
  PairRounds rounds(at_once ? one.size() : rails * one.size());
  for (unsigned rail = 0; rail < rails; ++rail) {
    for (std::size_t r = 0; r < one.size(); ++r)
      for (const auto& [a, b] : one[r])
        rounds[at_once ? r : rail * one.size() + r].emplace_back(rail * nodes + a, rail * nodes + b);
  }
  return rounds;
}

PairMatrix::PairMatrix(const std::vector<std::string>& nodes, std::vector<std::string> of) {
  rails = std::move(of);
  for (const std::string& rail : rails)
    for (const std::string& node : nodes) names.push_back(node + " " + rail);
  rate.assign(names.size(), std::vector<double>(names.size(), -1));
}

std::vector<std::string> nodes_of(const PairMatrix& matrix) {
  std::vector<std::string> nodes;  // of the first rail, which has all of them
  for (std::size_t end = 0; end < matrix.ends_of_rail(); ++end) nodes.push_back(node_of(matrix, end));
  return nodes;
}

Blame blame(const PairMatrix& matrix, double share) {
  const std::size_t ends = matrix.ends_of_rail();
  Blame found;
  if (ends == 0) return found;
  for (std::size_t first = 0; first < matrix.names.size(); first += ends) {
    const double reference = blame_among(matrix, first, first + ends, share, found);
    found.reference = std::max(found.reference, reference);
    if (!matrix.rails.empty()) found.rail_reference.push_back(reference);
  }
  for (unsigned rail = 0; rail < found.rail_reference.size(); ++rail) {
    const double reference = found.rail_reference[rail];
    if (reference > 0 && reference < share * found.reference) found.rails.push_back(rail);
  }
  return found;
}

PairMatrix median_matrix(const std::vector<const PairMatrix*>& several) {
  if (several.empty()) return {};
  PairMatrix middle(several.front()->names);
  middle.rails = several.front()->rails;
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

std::vector<PairFinding> pair_findings(const Blame& blame, const PairMatrix& matrix) {
  const std::size_t ends = matrix.ends_of_rail();
  const auto reference = [&](std::size_t end) {
    return matrix.rails.empty() ? blame.reference : blame.rail_reference[end / ends];
  };
  std::vector<PairFinding> all;
  for (const unsigned rail : blame.rails)
    all.push_back({"slow rail", matrix.rails[rail],
                   fmt::format("nodes reach {} on it, where the best rail gives {}",
                               rate_text(blame.rail_reference[rail]), rate_text(blame.reference))});
  for (const unsigned node : blame.nodes) {
    std::vector<double> rates;
    for (unsigned other = 0; other < matrix.names.size(); ++other)
      if (other != node && between(matrix, node, other) >= 0) rates.push_back(between(matrix, node, other));
    const bool whole = on_all_rails(blame, matrix, node);
    if (whole && node >= ends) continue;  // told with its first rail
    all.push_back(
        {whole || matrix.rails.empty() ? "slow node" : "slow rail of a node",
         whole ? node_of(matrix, node) : matrix.names[node],
         fmt::format("{} with its {} partners{}, where others reach {}", rate_text(median(rates)), rates.size(),
                     whole ? fmt::format(" on {}, likewise on its other rails", matrix.rails.front()) : "",
                     rate_text(reference(node)))});
  }
  for (const auto& [from, to] : blame.links)
    all.push_back(
        {"slow link", matrix.names[from] + " to " + matrix.names[to],
         fmt::format("{}, where others reach {}", rate_text(matrix.rate[from][to]), rate_text(reference(from)))});
  return all;
}

std::vector<std::string> told(const Blame& blame, const PairMatrix& matrix) {
  std::vector<std::string> lines;
  for (const PairFinding& one : pair_findings(blame, matrix))
    lines.push_back(one.kind + ": " + one.subject + ": " + one.told);
  return lines;
}

}  // namespace headrace
