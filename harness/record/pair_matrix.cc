#include "harness/record/pair_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "harness/base/median.h"
#include "harness/base/units.h"
#include "harness/record/connections.h"

namespace headrace {
namespace {

/// The slower of both ways, as far as they were measured; below 0 = neither was.
double between(const PairMatrix& m, std::size_t a, std::size_t b) {
  const double there = m.rate[a][b], back = m.rate[b][a];
  if (there < 0 || back < 0) return std::max(there, back);
  return std::min(there, back);
}

std::string rate_text(double rate) { return format_quantity(rate, Dimension::bytes_per_second); }

/// From that many ends on pairs show the spread of healthy ones. Most pairs of a healthy node are never 2.5 deviations
/// off.
constexpr std::size_t kManyEnds = 8;
constexpr double kLeastLoss = 0.05, kDeviations = 2.5, kLeastSpread = 0.005;

/// The rate of healthy ends of a rail.
struct Usual {
  double reference = 0;   // the median of each one's rate with its best partner; 0: of fewer than two
  double of_nodes = 0;    // that nodes' pairs are compared with: of many ends the middle pair
  double node_share = 0;  // of that, below which a node's pair is slow
};

Usual usual_among(const PairMatrix& matrix, std::size_t first, std::size_t last, double share) {
  std::vector<double> best, rates;
  for (std::size_t a = first; a < last; ++a) {
    double most = -1;
    for (std::size_t b = first; b < last; ++b) {
      if (a == b) continue;
      most = std::max(most, between(matrix, a, b));
      if (a < b && between(matrix, a, b) >= 0) rates.push_back(between(matrix, a, b));
    }
    if (most >= 0) best.push_back(most);
  }
  if (best.size() < 2) return {};
  Usual usual;
  usual.reference = usual.of_nodes = statistics::median(best);
  usual.node_share = share;
  if (last - first < kManyEnds) return usual;
  const double middle = statistics::median(rates);
  if (middle <= 0) return usual;
  for (double& rate : rates) rate = std::abs(rate - middle);
  const double spread = std::max(1.4826 * statistics::median(rates), kLeastSpread * middle);
  const double below =
      std::max(share * usual.reference, std::min((1 - kLeastLoss) * middle, middle - kDeviations * spread));
  usual.of_nodes = middle;
  usual.node_share = below / middle;
  return usual;
}

/// Blames ends from `first` to before `last`, in `found`; returns the usual values among them.
Usual blame_among(const PairMatrix& matrix, std::size_t first, std::size_t last, double share, Blame& found) {
  const Usual usual = usual_among(matrix, first, last, share);
  if (usual.reference == 0) return usual;
  const auto slow = [&](double rate) { return rate >= 0 && rate < share * usual.reference; };
  const double node_below = usual.node_share * usual.of_nodes;

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
  return usual;
}

/// The node of an end: "node3" of "node3 eth1".
std::string node_of(const PairMatrix& matrix, std::size_t end) {
  const std::string& name = matrix.names[end];
  if (matrix.rails.empty()) return name;
  return name.substr(0, name.size() - matrix.rails[end / matrix.ends_of_rail()].size() - 1);
}

bool is_measured(const PairMatrix& matrix, const UnreachedPair& pair) { return between(matrix, pair.a, pair.b) >= 0; }

/// Attempts over one rail. A pair with a rate was connected both ways, unless its first end could not call the second.
Connections connections_of(const PairMatrix& matrix, std::size_t first) {
  Connections all;
  const auto last = static_cast<unsigned>(first + matrix.ends_of_rail());
  std::set<std::pair<unsigned, unsigned>> fails;
  for (const UnreachedPair& one : matrix.unreached) fails.emplace(one.a, one.b);
  for (auto a = static_cast<unsigned>(first); a < last; ++a)
    for (auto b = static_cast<unsigned>(first); b < last; ++b)
      if (a != b && !fails.contains({a, b}) && between(matrix, a, b) >= 0) all.worked(a, b);
  for (const UnreachedPair& one : matrix.unreached)
    if (one.a >= first && one.a < last)
      is_measured(matrix, one) ? all.failed(one.a, one.b, one.why) : all.failed_both(one.a, one.b, one.why);
  return all;
}

std::string listed(const PairMatrix& matrix, const std::vector<unsigned>& ends) {
  std::string text;
  for (const unsigned end : ends) text += (text.empty() ? "" : ", ") + matrix.names[end];
  return text;
}

PairFinding unreached_end(const PairMatrix& matrix, const ConnectionFault& fault) {
  using Kind = ConnectionFault::Kind;
  PairFinding one;
  one.kind = "unreached ";
  one.subject = matrix.names[fault.a];
  one.part = (matrix.rails.empty() ? "node " : "NIC ") + one.subject;
  one.ends = {fault.a};
  const std::string others = listed(matrix, fault.others);
  if (fault.kind == Kind::closed) {
    one.kind = "closed ";
    one.reported = in_words_closed(others, fault.why);
  } else if (fault.kind == Kind::cannot_call) {
    one.kind = "blocked ";
    one.reported = in_words_cannot_call(others, fault.why);
  } else {
    one.reported = fmt::format("no connection with {} ({})", others, fault.why);
  }
  one.kind += matrix.rails.empty() ? "node" : "rail of a node";
  return one;
}

PairFinding unreached_link(const PairMatrix& matrix, const ConnectionFault& fault) {
  PairFinding one;
  one.kind = "unreached link";
  one.subject = matrix.names[std::min(fault.a, fault.b)] + " to " + matrix.names[std::max(fault.a, fault.b)];
  one.part = "link " + one.subject;
  one.reported = fault.one_way ? in_words_one_way(matrix.names[fault.a], matrix.names[fault.b], fault.why) : fault.why;
  one.ends = {std::min(fault.a, fault.b), std::max(fault.a, fault.b)};
  return one;
}

PairFinding unreached_rail(const PairMatrix& matrix, std::size_t rail, const std::string& why) {
  PairFinding one;
  one.kind = "unreached rail";
  one.subject = matrix.rails[rail];
  one.part = "rail " + one.subject;
  one.reported = "no host can connect to any other: " + why;
  return one;
}

/// A host that is closed on all of its rails is so as a whole.
void join_rails(const PairMatrix& matrix, std::vector<PairFinding>& ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    PairFinding whole = ends[i];
    const std::string node = node_of(matrix, whole.ends.front()), kind = whole.kind;
    const auto same = [&](const PairFinding& one) {
      return one.kind == kind && node_of(matrix, one.ends.front()) == node;
    };
    const auto count = static_cast<std::size_t>(std::count_if(ends.begin(), ends.end(), same));
    if (matrix.rails.size() < 2 || count != matrix.rails.size()) continue;
    whole.ends.clear();
    for (const PairFinding& one : ends)
      if (same(one)) whole.ends.push_back(one.ends.front());
    whole.subject = node;
    whole.part = "node " + node;
    std::erase_if(ends, same);
    whole.kind = kind.substr(0, kind.find(' ')) + " node";
    ends.insert(ends.begin() + static_cast<std::ptrdiff_t>(i), std::move(whole));
  }
}

/// The explanation of pairs that could not be connected, by their rates: rails, then ends of them, then links.
std::vector<PairFinding> unreached(const PairMatrix& matrix) {
  constexpr unsigned kOnce = 1;  // each was tried for some seconds
  std::vector<PairFinding> rails, all, links;
  const std::size_t ends = matrix.ends_of_rail();
  if (ends == 0 || matrix.unreached.empty()) return all;
  std::vector<Connections> of_rails;
  for (std::size_t first = 0; first < matrix.names.size(); first += ends)
    of_rails.push_back(connections_of(matrix, first));
  const bool any_worked =
      std::any_of(of_rails.begin(), of_rails.end(), [](const auto& one) { return one.any_worked(); });
  for (std::size_t rail = 0; rail < of_rails.size(); ++rail) {
    // Rails that connect no hosts, though others do. Where no rate is known at all, each pair is reported.
    const bool silent = !of_rails[rail].any_worked();
    for (const UnreachedPair& pair : matrix.unreached) {
      if (!silent || pair.a / ends != rail) continue;
      if (any_worked) {
        rails.push_back(unreached_rail(matrix, rail, pair.why));
        break;
      }
      links.push_back(unreached_link(matrix, {ConnectionFault::Kind::path, pair.a, pair.b, false, {}, pair.why}));
    }
    if (silent) continue;
    std::vector<unsigned> hosts(ends);
    std::iota(hosts.begin(), hosts.end(), static_cast<unsigned>(rail * ends));
    for (const ConnectionFault& fault : of_rails[rail].faults(hosts, kOnce)) {
      const bool path = fault.kind == ConnectionFault::Kind::path;
      (path ? links : all).push_back(path ? unreached_link(matrix, fault) : unreached_end(matrix, fault));
    }
  }
  join_rails(matrix, all);
  all.insert(all.begin(), rails.begin(), rails.end());
  all.insert(all.end(), links.begin(), links.end());
  return all;
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
  const unsigned seats = n + n % 2;  // an odd host out rests with a seat that is empty
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
  found.share = share;
  if (ends == 0) return found;
  for (std::size_t first = 0; first < matrix.names.size(); first += ends) {
    const Usual usual = blame_among(matrix, first, first + ends, share, found);
    found.reference = std::max(found.reference, usual.reference);
    found.node_share.push_back(usual.node_share);
    if (!matrix.rails.empty()) found.rail_reference.push_back(usual.reference);
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
  std::set<std::pair<std::size_t, std::size_t>> cut, known;
  for (const PairMatrix* m : several)
    for (const UnreachedPair& pair : m->unreached) {
      if (m->names != middle.names) continue;
      if (!is_measured(*m, pair)) cut.emplace(std::min(pair.a, pair.b), std::max(pair.a, pair.b));
      if (known.emplace(pair.a, pair.b).second) middle.unreached.push_back(pair);
    }
  for (std::size_t a = 0; a < middle.names.size(); ++a) {
    for (std::size_t b = 0; b < middle.names.size(); ++b) {
      std::vector<double> values;
      for (const PairMatrix* m : several)
        if (m->names == middle.names && m->rate[a][b] >= 0 && !cut.contains({std::min(a, b), std::max(a, b)}))
          values.push_back(m->rate[a][b]);
      middle.rate[a][b] = values.empty() ? -1 : statistics::median(values);
    }
  }
  return middle;
}

std::vector<PairFinding> pair_findings(const Blame& blame, const PairMatrix& matrix) {
  const std::size_t ends = matrix.ends_of_rail();
  const auto reference = [&](std::size_t end) {
    return matrix.rails.empty() ? blame.reference : blame.rail_reference[end / ends];
  };
  std::vector<PairFinding> all = unreached(matrix);
  for (const unsigned rail : blame.rails) {
    PairFinding& one = all.emplace_back();
    one.kind = "slow rail";
    one.subject = matrix.rails[rail];
    one.part = "rail " + one.subject;
    one.reported = fmt::format("nodes reach {} on it, where the best rail gives {}",
                               rate_text(blame.rail_reference[rail]), rate_text(blame.reference));
    one.rail = rail;
    one.below = blame.share;
  }
  for (const unsigned node : blame.nodes) {
    std::vector<double> rates;
    for (unsigned other = 0; other < matrix.names.size(); ++other)
      if (other != node && between(matrix, node, other) >= 0) rates.push_back(between(matrix, node, other));
    const bool whole = on_all_rails(blame, matrix, node);
    if (whole && node >= ends) continue;  // reported with its first rail
    PairFinding& one = all.emplace_back();
    one.kind = whole || matrix.rails.empty() ? "slow node" : "slow rail of a node";
    one.subject = whole ? node_of(matrix, node) : matrix.names[node];
    one.part = (whole || matrix.rails.empty() ? "node " : "NIC ") + one.subject;
    one.reported = fmt::format(
        "{} with its {} partners{}, where others reach {}", rate_text(statistics::median(rates)), rates.size(),
        whole ? fmt::format(" on {}, and the same on its other rails", matrix.rails.front()) : "",
        rate_text(reference(node)));
    for (std::size_t end = node; end < (whole ? matrix.names.size() : node + 1); end += ends)
      one.ends.push_back(static_cast<unsigned>(end));
    one.below = blame.node_share[node / ends];
  }
  for (const auto& [from, to] : blame.links) {
    PairFinding& one = all.emplace_back();
    one.kind = "slow link";
    one.subject = matrix.names[from] + " to " + matrix.names[to];
    one.part = "link " + matrix.names[std::min(from, to)] + " to " + matrix.names[std::max(from, to)];
    one.reported =
        fmt::format("{}, where others reach {}", rate_text(matrix.rate[from][to]), rate_text(reference(from)));
    one.ends = {from, to};
    one.below = blame.share;
  }
  return all;
}

std::optional<double> share_of(const PairFinding& finding, const Blame& blame, const PairMatrix& matrix) {
  const std::size_t ends = matrix.ends_of_rail();
  if (finding.below == 0) return std::nullopt;
  const auto usual = [&](std::size_t rail) { return usual_among(matrix, rail * ends, (rail + 1) * ends, blame.share); };
  if (finding.rail) {
    double most = 0;
    for (std::size_t rail = 0; rail < matrix.rails.size(); ++rail) most = std::max(most, usual(rail).reference);
    const double own = usual(*finding.rail).reference;
    return own > 0 ? std::optional(own / most) : std::nullopt;
  }
  if (finding.kind == "slow link") {
    const double rate = matrix.rate[finding.ends[0]][finding.ends[1]], of = usual(finding.ends[0] / ends).reference;
    return rate >= 0 && of > 0 ? std::optional(rate / of) : std::nullopt;
  }
  std::optional<double> best;  // of a node all of whose rails are slow
  for (const unsigned end : finding.ends) {
    std::vector<double> rates;
    for (unsigned other = 0; other < matrix.names.size(); ++other)
      if (other != end && std::find(blame.nodes.begin(), blame.nodes.end(), other) == blame.nodes.end() &&
          between(matrix, end, other) >= 0)
        rates.push_back(between(matrix, end, other));
    const double of = usual(end / ends).of_nodes;
    if (!rates.empty() && of > 0) best = std::max(best.value_or(0), statistics::median(rates) / of);
  }
  return best;
}

std::vector<double> sound_shares(const Blame& blame, const PairMatrix& matrix) {
  const std::size_t ends = matrix.ends_of_rail();
  std::vector<bool> bad(matrix.names.size(), false);
  for (const unsigned node : blame.nodes) bad[node] = true;
  std::set<std::pair<std::size_t, std::size_t>> links;
  for (const auto& [a, b] : blame.links) links.emplace(std::min(a, b), std::max(a, b));
  std::vector<double> shares;
  for (std::size_t first = 0; ends > 0 && first < matrix.names.size(); first += ends) {
    const double usual = usual_among(matrix, first, first + ends, blame.share).reference;
    for (std::size_t a = first; usual > 0 && a < first + ends; ++a)
      for (std::size_t b = a + 1; b < first + ends; ++b)
        if (!bad[a] && !bad[b] && !links.contains({a, b}) && between(matrix, a, b) >= 0)
          shares.push_back(between(matrix, a, b) / usual);
  }
  return shares;
}

}  // namespace headrace
