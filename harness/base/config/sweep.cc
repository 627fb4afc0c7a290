// Expansion of sweep axes.
#include "harness/base/config/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace headrace::config {
namespace {

/// A number with any unit.
struct Measure {
  double number = 0;
  std::string unit;
};

bool split(std::string_view text, Measure& measure) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), measure.number);
  if (error != std::errc() || !std::isfinite(measure.number)) return false;
  measure.unit.assign(end, text.data() + text.size());
  return true;
}

/// The factor of a unit, so that "4KiB..4MiB" and "200ms..2s" work, and the base unit at its end.
struct Scale {
  double factor = 1;
  std::string base;
};

Scale scale_of(const std::string& unit) {
  static const std::pair<std::string_view, double> kTimes[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                                                               {"min", 60},  {"h", 3600},  {"d", 86400}};
  for (const auto& [time, seconds] : kTimes)
    if (unit == time) return {seconds, "s"};
  static const std::pair<std::string_view, double> kPrefixes[] = {
      {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}, {"Pi", 0x1p50},
      {"k", 1e3},     {"M", 1e6},     {"G", 1e9},     {"T", 1e12},    {"P", 1e15}};
  for (const auto& [prefix, factor] : kPrefixes)
    if (unit.size() > prefix.size() && unit.starts_with(prefix)) return {factor, unit.substr(prefix.size())};
  return {1, unit};
}

bool excluded(const Value& entry, const Value* exclude) {
  if (exclude == nullptr || !exclude->is_list()) return false;
  return std::any_of(exclude->items.begin(), exclude->items.end(), [&](const Value& rule) {
    return !rule.entries.empty() && std::all_of(rule.entries.begin(), rule.entries.end(), [&](const auto& want) {
      const Value* have = entry.find(want.key);
      if (have == nullptr) return false;
      if (want.value.is_list()) {
        return std::any_of(want.value.items.begin(), want.value.items.end(),
                           [&](const Value& v) { return v.text == have->text; });
      }
      return have->text == want.value.text;
    });
  });
}

/// A rule that can never match was not meant.
void check_exclude(const Value& entry, const Value* exclude, Diagnostics& problems) {
  if (exclude == nullptr) return;
  if (!exclude->is_list())
    return problems.error(exclude->where, "exclude: must be a list of maps, as in [{engine: mmap}]");
  std::vector<std::string> keys;
  for (const Value::Entry& e : entry.entries) keys.push_back(e.key);
  for (const Value& rule : exclude->items) {
    if (rule.entries.empty()) problems.error(rule.where, "exclude: each rule is a map of keys and values");
    for (const Value::Entry& want : rule.entries)
      if (entry.find(want.key) == nullptr)
        problems.error(want.key_where, fmt::format("exclude: '{}' is not a key of this entry{}", want.key,
                                                   did_you_mean(want.key, keys)));
  }
}

}  // namespace

std::vector<std::string> expand_range(const std::string& text, const Location& where, Diagnostics& problems) {
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos || dots == 0) return {};
  const std::size_t step_at = text.find_first_of("*+", dots);
  if (step_at == std::string::npos) return {};
  Measure first, last, step;
  if (!split(std::string_view(text).substr(0, dots), first)) return {};
  const bool good = split(std::string_view(text).substr(dots + 2, step_at - dots - 2), last) &&
                    split(std::string_view(text).substr(step_at + 1), step);
  const Scale one = scale_of(first.unit), end = scale_of(last.unit), each = scale_of(step.unit);
  const double from = first.number * one.factor, to = last.number * end.factor;
  const bool multiply = text[step_at] == '*';
  const double by = multiply ? step.number : step.number * each.factor;
  if (!good || end.base != one.base || from <= 0 || to < from ||
      (multiply ? by <= 1 || !step.unit.empty() : by <= 0 || each.base != one.base)) {
    problems.error(where, fmt::format("'{}' is not a range: write FIRST..LAST*FACTOR or FIRST..LAST+STEP, such as "
                                      "4KiB..4MiB*2 or 200ms..2s+200ms",
                                      text));
    return {text};
  }
  std::vector<std::string> values;
  constexpr std::size_t kMost = 100000;
  for (double v = from; v <= to * (1 + 1e-9) && values.size() < kMost;
       v = multiply ? v * by : from + by * static_cast<double>(values.size())) {
    // In the first value's unit where that is exact, else in the base unit.
    const double shown = v / one.factor;
    const bool exact = one.factor <= 1 || std::fmod(v, one.factor) == 0;
    values.push_back(exact ? fmt::format("{:.15g}{}", shown, first.unit) : fmt::format("{:.15g}{}", v, one.base));
  }
  return values;
}

std::vector<Combination> expand(const Value& entry, const std::vector<std::string>& plain, std::size_t most,
                                Diagnostics& problems) {
  struct Axis {
    std::size_t entry;
    std::vector<Value> values;
  };
  std::vector<Axis> axes;
  double total = 1;
  for (std::size_t i = 0; i < entry.entries.size(); ++i) {
    const auto& [key, key_where, value] = entry.entries[i];
    if (std::find(plain.begin(), plain.end(), key) != plain.end()) continue;
    Axis axis{i, {}};
    if (value.is_list()) {
      for (const Value& item : value.items) {
        if (item.is_scalar())
          axis.values.push_back(item);
        else
          problems.error(item.where, fmt::format("{}: a sweep lists single values", key));
      }
      if (value.items.empty()) problems.error(value.where, fmt::format("{}: the list is empty", key));
      if (axis.values.empty()) return {};  // reported; the key's reader would reject it otherwise
    } else if (value.is_scalar()) {
      for (std::string& text : expand_range(value.text, value.where, problems)) {
        axis.values.push_back(Value::scalar(std::move(text), value.where));
      }
    }
    if (axis.values.empty()) continue;
    total *= static_cast<double>(axis.values.size());
    axes.push_back(std::move(axis));
  }
  if (total > static_cast<double>(most)) {
    problems.error(entry.where, fmt::format("sweeps make {:.0f} points; at most {} without --max-points", total, most));
    return {};
  }
  const Value* exclude = entry.find("exclude");
  check_exclude(entry, exclude, problems);
  std::vector<Combination> result;
  std::vector<std::size_t> at(axes.size(), 0);
  for (;;) {
    Combination one{entry, {}};
    for (std::size_t a = 0; a < axes.size(); ++a) {
      Value::Entry& target = one.entry.entries[axes[a].entry];
      target.value = axes[a].values[at[a]];
      if (axes[a].values.size() > 1) one.swept.emplace_back(target.key, target.value.text);
    }
    if (!excluded(one.entry, exclude)) result.push_back(std::move(one));
    std::size_t a = axes.size();
    while (a > 0 && ++at[a - 1] == axes[a - 1].values.size()) at[--a] = 0;
    if (a == 0) break;
  }
  if (result.empty()) problems.error(entry.where, "exclude: leaves no combination");
  return result;
}

}  // namespace headrace::config
