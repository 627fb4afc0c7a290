// Writing needs for programs.
#include "harness/job/need_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/job/formula.h"

namespace headrace::job {
std::string need_value(double value, const std::string& unit) {
  const Dimension dimension = dimension_of_unit(unit);
  if (dimension == Dimension::per_second && value < 1e6 && value >= 1) return compact_quantity(value, dimension, 6);
  return format_quantity(value, dimension, false, 4);
}

std::string needs_json(const Job& job, std::span<const Need> needs) {
  using Json = nlohmann::ordered_json;
  Json root{{"schema", 1}, {"job", job.name}, {"safety", job.safety}, {"needs", Json::array()}};
  for (const Need& need : needs) {
    Json inputs = Json::object();
    for (const auto& [name, value] : need.inputs) inputs[name] = value;
    Json entry{{"id", need.id},
               {"scope", to_string(need.scope)},
               {"direction", "at_least"},
               {"required", need.required},
               {"need", need.need},
               {"unit", need.unit},
               {"formula", need.formula},
               {"equation", need.equation},
               {"substituted", need.substituted},
               {"inputs", inputs},
               {"measured_by", need.measured_by}};
    for (const JobParameter& p : need.measured_with) entry["measured_with"][p.name] = p.value;
    if (need.uncertainty > 0) entry["relative_uncertainty"] = need.uncertainty;
    if (!need.cache.empty()) entry["cache"] = need.cache;
    if (const auto& c = need.collective)
      entry["collective"] = {
          {"message_bytes", c->message_size()}, {"ranks", c->ranks}, {"stride", c->stride}, {"nodes", c->nodes}};
    if (need.informative) entry["informative"] = true;
    root["needs"].push_back(std::move(entry));
  }
  return root.dump(1) + '\n';
}

std::string needs_csv(std::span<const Need> needs) {
  std::string out = "id,scope,direction,required,need,unit,formula,equation,substituted,measured_by\n";
  for (const Need& need : needs)
    out += fmt::format("{},{},at_least,{},{},{},{},{},{},{}\n", csv_field(need.id), to_string(need.scope),
                       need.required, need.need, csv_field(need.unit), csv_field(need.formula),
                       csv_field(need.equation), csv_field(need.substituted), csv_field(join(need.measured_by, " ")));
  return out;
}

// Pairing the needs of two jobs.

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
