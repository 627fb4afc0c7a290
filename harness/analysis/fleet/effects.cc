// Shifts that nodes share: of racks, switches and the like, and of two humps.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/analysis/comparison/row_words.h"
#include "harness/analysis/fleet/state.h"
#include "harness/base/units.h"
#include "harness/judge/statistics/humps.h"
#include "harness/judge/statistics/summary.h"

namespace headrace::fleet {
namespace {

using statistics::kFewestAlike;
using statistics::kOutlierLimit;
using statistics::Robust;

constexpr std::size_t kFewestInGroupEffect = 3;
/// A fact explains humps when at most one node in twenty is of the other one.
constexpr double kMostUnexplained = 0.05;
/// By chance a fact with k values parts n nodes as they are parted in one of 2^(n-k) cases.
constexpr std::size_t kFewestToExplain = 8;

std::vector<double> values_of(const std::vector<Valued>& having) {
  std::vector<double> values;
  for (const Valued& one : having) values.push_back(one.value);
  return values;
}

/// Those that another session measured.
std::vector<double> again_of(const std::vector<Valued>& having) {
  std::vector<double> values;
  for (const Valued& one : having)
    if (one.again) values.push_back(*one.again);
  return values;
}

/// How far the middle of `own` lies from `others`, in standard errors of a median of that many normal values. Infinite
/// where the others do not differ at all.
double standard_errors(const std::vector<double>& own, const Robust& others) {
  const double away = statistics::median(own) - others.median;
  const double error = 1.2533 * others.spread / std::sqrt(static_cast<double>(own.size()));
  return error > 0 ? away / error : std::copysign(HUGE_VAL, away);
}

bool stands_out(const ComparedMetric& key, const std::vector<double>& own, const Robust& others) {
  return worse_by(key, statistics::median(own), others.median) >= key.delta &&
         std::abs(standard_errors(own, others)) > kOutlierLimit;
}

/// By another session of three of the nodes or more; the rest by theirs, where enough have one.
void confirm(const ComparedMetric& key, const std::vector<Valued>& slow, const std::vector<Valued>& rest,
             GroupEffect& effect) {
  const std::vector<double> own = again_of(slow);
  if (own.size() < kFewestInGroupEffect) return;
  std::vector<double> others = again_of(rest);
  if (others.size() < kFewestAlike) others = values_of(rest);
  effect.again = statistics::median(own);
  effect.status = stands_out(key, own, statistics::robust(others)) ? Status::confirmed : Status::passing;
}

using Fact = std::map<std::string, std::vector<bool>>;  // value -> is each of its nodes slow?

/// "rack", "r1, r3" when the slow nodes are those of these racks and of no other.
bool explains(const Fact& fact, std::size_t nodes, std::string& slow, std::string& other) {
  if (fact.size() < 2 || nodes < fact.size() + kFewestToExplain) return false;
  std::size_t reported = 0, wrong = 0;
  for (const auto& [value, is_slow] : fact) {
    const auto bad = static_cast<std::size_t>(std::count(is_slow.begin(), is_slow.end(), true));
    reported += is_slow.size();
    wrong += std::min(bad, is_slow.size() - bad);
    std::string& side = 2 * bad > is_slow.size() ? slow : other;
    side += (side.empty() ? "" : ", ") + (value.empty() ? "-" : value);
  }
  return reported == nodes && !slow.empty() && !other.empty() &&
         static_cast<double>(wrong) <= kMostUnexplained * static_cast<double>(nodes);
}

/// The attribute of hosts, else the fact of the fingerprint with the fewest values, that explains.
void explain(const Work& work, const std::vector<Valued>& having, const std::set<std::size_t>& slow,
             GroupEffect& effect, std::string& others) {
  std::map<std::string, Fact> places, facts;
  for (const Valued& one : having) {
    const bool is_slow = slow.contains(one.node);
    for (const auto& [key, value] : work.fleet.nodes[one.node].attributes) places[key][value].push_back(is_slow);
    for (const auto& [key, value] : work.newest(one.node).facts)
      facts[work.collected.texts[key]][work.collected.texts[value]].push_back(is_slow);
  }
  for (const auto* all : {&places, &facts}) {
    std::size_t fewest = having.size();
    for (const auto& [key, fact] : *all) {
      std::string name, other;
      if (fact.size() >= fewest || !explains(fact, having.size(), name, other)) continue;
      fewest = fact.size();
      effect.attribute = key;
      effect.name = name;
      others = other;
    }
    if (!effect.attribute.empty()) return;
  }
}

}  // namespace

double worse_by(const ComparedMetric& key, double value, double usual) {
  const bool higher = key.better == Better::higher;
  const double good = higher ? value : usual, bad = higher ? usual : value;
  if (bad <= 0) return 0;
  return good > 0 ? bad / good - 1 : HUGE_VAL;
}

std::string shift_text(const GroupEffect& effect) {
  return effect.shift ? comparison::change_text(1 + *effect.shift) : "away";
}

double median_of(const std::vector<Valued>& having) { return statistics::median(values_of(having)); }

std::optional<GroupEffect> effect_of(const ComparedMetric& key, std::size_t metric, const std::vector<Valued>& slow,
                                     const std::vector<Valued>& rest) {
  if (slow.empty() || rest.empty()) return std::nullopt;
  const std::vector<double> own = values_of(slow);
  const Robust others = statistics::robust(values_of(rest));
  if (!stands_out(key, own, others)) return std::nullopt;
  GroupEffect effect;
  effect.metric = metric;
  effect.usual = others.median;
  effect.level = statistics::median(own);
  if (effect.usual != 0) effect.shift = effect.level / effect.usual - 1;
  effect.z = std::clamp(standard_errors(own, others), -1e6, 1e6);  // JSON has no infinity
  for (const Valued& one : slow) effect.nodes.push_back(one.node);
  confirm(key, slow, rest, effect);
  return effect;
}

std::vector<GroupEffect> place_effects(const Work& work, std::size_t metric, const std::vector<Valued>& having) {
  const ComparedMetric& key = work.fleet.metrics[metric];
  std::map<std::pair<std::string, std::string>, std::set<std::size_t>> places;
  for (const Valued& one : having)
    for (const auto& [attribute, name] : work.fleet.nodes[one.node].attributes)
      places[{attribute, name}].insert(one.node);
  std::vector<GroupEffect> found;
  for (const auto& [place, inside] : places) {
    if (inside.size() < kFewestInGroupEffect || having.size() < inside.size() + kFewestAlike) continue;
    std::vector<Valued> own, rest;
    for (const Valued& one : having) (inside.contains(one.node) ? own : rest).push_back(one);
    std::optional<GroupEffect> effect = effect_of(key, metric, own, rest);
    if (!effect) continue;
    // Most of its nodes, not two bad ones of three.
    const auto bad = std::count_if(own.begin(), own.end(), [&](const Valued& one) {
      return worse_by(key, one.value, effect->usual) > key.delta / 2;
    });
    if (4 * bad < 3 * static_cast<long>(own.size())) continue;
    effect->attribute = place.first;
    effect->name = place.second;
    effect->explanation =
        fmt::format("{} of {} nodes of {} {}: {} of {} is {} from the rest. One finding, not {}.", bad, own.size(),
                    place.first, place.second, key.metric, key.point, shift_text(*effect), own.size());
    found.push_back(std::move(*effect));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const GroupEffect& a, const GroupEffect& b) { return std::abs(a.z) > std::abs(b.z); });
  std::vector<GroupEffect> chosen;
  std::set<std::size_t> explained;
  for (GroupEffect& effect : found) {
    if (std::any_of(effect.nodes.begin(), effect.nodes.end(), [&](std::size_t i) { return explained.contains(i); }))
      continue;
    explained.insert(effect.nodes.begin(), effect.nodes.end());
    chosen.push_back(std::move(effect));
  }
  return chosen;
}

std::optional<GroupEffect> hump_effect(const Work& work, std::size_t metric, const std::vector<Valued>& having) {
  const ComparedMetric& key = work.fleet.metrics[metric];
  const auto humps = statistics::two_humps(values_of(having));
  if (!humps) return std::nullopt;
  std::vector<Valued> slow, rest;
  std::set<std::size_t> bad;
  for (const Valued& one : having) {
    const bool is_low = one.value <= humps->below;
    const bool is_bad = is_low == (key.better == Better::higher);
    (is_bad ? slow : rest).push_back(one);
    if (is_bad) bad.insert(one.node);
  }
  std::optional<GroupEffect> effect = effect_of(key, metric, slow, rest);
  if (!effect) return std::nullopt;
  std::string others;
  explain(work, having, bad, *effect, others);
  effect->explanation = fmt::format("{} of {} like nodes are {} from the rest in {} of {}: {}, the others {}; {}.",
                                    slow.size(), having.size(), shift_text(*effect), key.metric, key.point,
                                    format_in_unit(effect->level, key.unit), format_in_unit(effect->usual, key.unit),
                                    effect->attribute.empty() ? "nothing in the runs or in the hosts file explains it"
                                                              : fmt::format("{} explains it: {}, the others {}",
                                                                            effect->attribute, effect->name, others));
  return effect;
}

std::optional<GroupEffect> change_of_all(const ComparedMetric& key, std::size_t metric,
                                         const std::vector<Valued>& having) {
  std::vector<double> now, then, ratios;
  for (const Valued& one : having) {
    if (!one.again || *one.again <= 0 || one.value < 0) continue;
    now.push_back(one.value);
    then.push_back(*one.again);
    ratios.push_back(one.value / *one.again);
  }
  if (ratios.size() < kFewestAlike || 2 * ratios.size() <= having.size()) return std::nullopt;
  GroupEffect effect;
  effect.metric = metric;
  effect.usual = statistics::median(then);
  effect.level = statistics::median(now);
  effect.shift = statistics::median(ratios) - 1;
  if (worse_by(key, 1 + *effect.shift, 1) < key.delta) return std::nullopt;
  const Robust each = statistics::robust(ratios);
  const double error = 1.2533 * each.spread / std::sqrt(static_cast<double>(ratios.size()));
  effect.z = error > 0 ? std::clamp(*effect.shift / error, -1e6, 1e6) : std::copysign(1e6, *effect.shift);
  if (std::abs(effect.z) <= kOutlierLimit) return std::nullopt;
  effect.attribute = "fleet";
  effect.name = "since the session before";
  effect.explanation = fmt::format(
      "{} of {} is {} from what the same {} nodes reached in the session before: {}, then {}. The cause is a part that "
      "they share, not one node.",
      key.metric, key.point, shift_text(effect), ratios.size(), format_in_unit(effect.level, key.unit),
      format_in_unit(effect.usual, key.unit));
  effect.next_step = "check what all of them share; headrace history shows since when";
  return effect;
}

}  // namespace headrace::fleet
