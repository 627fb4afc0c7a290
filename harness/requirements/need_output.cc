// Writing needs: text for a reader who checks by hand, JSON and CSV for programs.
#include "harness/requirements/need_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/diagnostics.h"
#include "harness/base/printable.h"
#include "harness/requirements/formula.h"
#include "harness/requirements/wrap.h"

namespace headrace::requirements {
namespace {

constexpr std::size_t kLabel = 46;  // columns before the values
constexpr std::size_t kColumn = 16;

std::string header(const Job& job) {
  const std::string description = job.description.empty() ? "" : ": " + job.description;
  return fmt::format(
      "{}\n{} node{} of {} GPU{}; a step takes {}; need = {} * "
      "required\n\n{:<{}}{:>{}}{:>{}}{:>{}}\n",
      wrapped(printable(job.name + description), 0), job.cluster.nodes, job.cluster.nodes == 1 ? "" : "s",
      job.cluster.gpus_per_node, job.cluster.gpus_per_node == 1 ? "" : "s",
      compact_quantity(job.step.time, Dimension::seconds), job.safety, "need", kLabel, "cluster", kColumn, "node",
      kColumn, "gpu", kColumn);
}

/// One need: all entries share the id.
std::string block(const Job& job, std::span<const Need> scopes) {
  const auto row = [&](std::string_view label, double Need::*value) {
    std::string line = fmt::format("{:<{}}", label, kLabel);
    for (const Scope scope : {Scope::cluster, Scope::node, Scope::gpu}) {
      const auto at = std::find_if(scopes.begin(), scopes.end(), [&](const Need& n) { return n.scope == scope; });
      line += fmt::format("{:>{}}", at == scopes.end() ? "" : need_value((*at).*value, at->unit), kColumn);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    return line + '\n';
  };
  const Need& first = scopes.front();
  std::string out = row(first.id, &Need::required);
  if (first.uncertainty > 0)
    out += fmt::format("  known within {:.2g} % (one standard deviation)\n", first.uncertainty * 100);
  if (!first.informative)
    out += row(first.uncertainty > 0
                   ? fmt::format("  with margin {} and uncertainty {:.3g}", job.safety, first.uncertainty)
                   : fmt::format("  with margin {}", job.safety),
               &Need::need);
  const std::string lead = fmt::format("  {}: ", first.formula);
  out += lead + wrapped(first.equation, lead.size(), true) + '\n';
  out += fmt::format("{:>{}}", "= ", lead.size()) + wrapped(first.substituted, lead.size(), true) + '\n';
  const auto measured =
      std::find_if(scopes.begin(), scopes.end(), [](const Need& n) { return !n.measured_by.empty(); });
  if (measured != scopes.end() && !first.informative)
    out += fmt::format("  measured by {}{}\n", join(measured->measured_by, ", else "),
                       first.cache.empty() ? "" : ", " + first.cache);
  for (const JobParameter& p : first.measured_with) out += fmt::format("  with {}: {}\n", p.name, p.key);
  if (first.collective)
    out += fmt::format("  in messages of {} among {:.0f} ranks{}\n",
                       compact_quantity(static_cast<double>(first.collective->message_size()), Dimension::bytes),
                       first.collective->ranks,
                       first.collective->stride > 1 ? fmt::format(", {:.0f} apart", first.collective->stride) : "");
  return out + '\n';
}

}  // namespace

std::string need_value(double value, const std::string& unit) {
  const Dimension dimension = dimension_of_unit(unit);
  if (dimension == Dimension::per_second && value < 1e6 && value >= 1) return compact_quantity(value, dimension, 6);
  return format_quantity(value, dimension, false, 4);
}

std::string needs_text(const Job& job, std::span<const Need> needs) {
  std::string out = header(job);
  for (std::size_t i = 0; i < needs.size();) {
    std::size_t end = i + 1;
    while (end < needs.size() && needs[end].id == needs[i].id) ++end;
    out += block(job, needs.subspan(i, end - i));
    i = end;
  }
  return out + "A formula's symbols, validity and source: headrace formula A3\n";
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
    out +=
        fmt::format("{},{},at_least,{},{},{},{},\"{}\",\"{}\",\"{}\"\n", need.id, to_string(need.scope), need.required,
                    need.need, need.unit, need.formula, need.equation, need.substituted, join(need.measured_by, " "));
  return out;
}

}  // namespace headrace::requirements
