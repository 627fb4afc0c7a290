// Pairing the needs of two jobs.
#include "harness/job/need_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/escape.h"

namespace headrace::job {
std::optional<double> NeedChange::factor() const {
  return before && after && *before != 0 ? std::optional<double>(*after / *before) : std::nullopt;
}

std::vector<NeedChange> need_changes(const Job& before, const Job& after) {
  std::vector<NeedChange> pairs;
  for (const Need& need : derive_needs(after))
    pairs.push_back({need.id, need.scope, need.unit, std::nullopt, need.need});
  for (const Need& need : derive_needs(before)) {
    const auto match = std::find_if(pairs.begin(), pairs.end(),
                                    [&](const NeedChange& p) { return p.id == need.id && p.scope == need.scope; });
    if (match != pairs.end())
      match->before = need.need;
    else
      pairs.push_back({need.id, need.scope, need.unit, need.need, std::nullopt});
  }
  return pairs;
}

std::string changes_json(const Job& before, const Job& after, const std::vector<std::string>& overrides) {
  using Json = nlohmann::ordered_json;
  const auto value = [](const std::optional<double>& v) { return v ? Json(*v) : Json(nullptr); };
  Json root{{"schema", 1}, {"job", after.name}, {"overrides", overrides}, {"needs", Json::array()}};
  for (const NeedChange& pair : need_changes(before, after))
    root["needs"].push_back({{"id", pair.id},
                             {"scope", to_string(pair.scope)},
                             {"unit", pair.unit},
                             {"before", value(pair.before)},
                             {"after", value(pair.after)},
                             {"factor", value(pair.factor())}});
  return root.dump(1) + '\n';
}

std::string changes_csv(const Job& before, const Job& after) {
  const auto value = [](const std::optional<double>& v) { return v ? fmt::format("{}", *v) : ""; };
  std::string out = "id,scope,unit,before,after,factor\n";
  for (const NeedChange& pair : need_changes(before, after))
    out += fmt::format("{},{},{},{},{},{}\n", csv_field(pair.id), to_string(pair.scope), csv_field(pair.unit),
                       value(pair.before), value(pair.after), value(pair.factor()));
  return out;
}

}  // namespace headrace::job
