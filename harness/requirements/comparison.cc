// Pairing the needs of two jobs.
#include "harness/requirements/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/base/diagnostics.h"
#include "harness/base/printable.h"
#include "harness/requirements/need_output.h"

namespace headrace::requirements {
namespace {

struct Pair {
  std::string id;
  Scope scope;
  std::string unit;
  std::optional<double> before, after;

  std::optional<double> factor() const {
    return before && after && *before != 0 ? std::optional<double>(*after / *before) : std::nullopt;
  }
  bool same() const { return before == after; }
};

/// In the order of the job after; what only the job before has comes last.
std::vector<Pair> pair_needs(const Job& before, const Job& after) {
  std::vector<Pair> pairs;
  for (const Need& need : derive_needs(after))
    pairs.push_back({need.id, need.scope, need.unit, std::nullopt, need.need});
  for (const Need& need : derive_needs(before)) {
    const auto match = std::find_if(pairs.begin(), pairs.end(),
                                    [&](const Pair& p) { return p.id == need.id && p.scope == need.scope; });
    if (match != pairs.end())
      match->before = need.need;
    else
      pairs.push_back({need.id, need.scope, need.unit, need.need, std::nullopt});
  }
  return pairs;
}

std::string shown(const std::optional<double>& value, const std::string& unit) {
  return value ? need_value(*value, unit) : "-";
}

}  // namespace

std::string comparison_text(const Job& before, const Job& after, const std::vector<std::string>& overrides) {
  const std::vector<Pair> pairs = pair_needs(before, after);
  std::string out = fmt::format("{}: {}\nneeds with margin {} before, {} after\n\n{:<36}{:<9}{:>16}{:>16}{:>12}\n",
                                printable(after.name), printable(join(overrides)), before.safety, after.safety, "need",
                                "scope", "before", "after", "factor");
  std::size_t same = 0;
  for (const Pair& pair : pairs) {
    same += pair.same();
    if (pair.same()) continue;
    const auto factor = pair.factor();
    out += fmt::format("{:<36}{:<9}{:>16}{:>16}{:>12}\n", pair.id, to_string(pair.scope), shown(pair.before, pair.unit),
                       shown(pair.after, pair.unit), factor ? fmt::format("x {:.4g}", *factor) : "");
  }
  return out + fmt::format("\n{} of {} stay the same.\n", same, pairs.size());
}

std::string comparison_json(const Job& before, const Job& after, const std::vector<std::string>& overrides) {
  using Json = nlohmann::ordered_json;
  const auto value = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  Json root{{"schema", 1}, {"job", after.name}, {"overrides", overrides}, {"needs", Json::array()}};
  for (const Pair& pair : pair_needs(before, after))
    root["needs"].push_back({{"id", pair.id},
                             {"scope", to_string(pair.scope)},
                             {"unit", pair.unit},
                             {"before", value(pair.before)},
                             {"after", value(pair.after)},
                             {"factor", value(pair.factor())}});
  return root.dump(1) + '\n';
}

std::string comparison_csv(const Job& before, const Job& after) {
  const auto value = [](const std::optional<double>& v) { return v ? fmt::format("{}", *v) : ""; };
  std::string out = "id,scope,unit,before,after,factor\n";
  for (const Pair& pair : pair_needs(before, after))
    out += fmt::format("{},{},{},{},{},{}\n", pair.id, to_string(pair.scope), pair.unit, value(pair.before),
                       value(pair.after), value(pair.factor()));
  return out;
}

}  // namespace headrace::requirements
