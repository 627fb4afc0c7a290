#include "benches/headrace/require_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "benches/headrace/table.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/units.h"
#include "harness/job/job_keys.h"
#include "harness/job/need_kinds.h"
#include "harness/job/need_output.h"

namespace headrace::cli {
namespace {

using namespace job;

std::size_t width_of(const Terminal& terminal) { return static_cast<std::size_t>(std::max(terminal.width(), 40)); }

Text header(const Job& job, std::size_t width) {
  const std::string description = job.description.empty() ? "" : ": " + job.description;
  return wrap(job.name + description, width, 0) + "\n" +
         wrap(Text::format("{} node{} of {} GPU{}; a step takes {}", job.cluster.nodes,
                           job.cluster.nodes == 1 ? "" : "s", job.cluster.gpus_per_node,
                           job.cluster.gpus_per_node == 1 ? "" : "s",
                           compact_quantity(job.step.time, Dimension::seconds)),
              width, 0) +
         "\n";
}

constexpr std::size_t kLabel = 46;  // columns before the values
constexpr std::size_t kColumn = 16;
constexpr std::size_t kScopes = 3;

/// A label and its values by scope: in columns where they fit, else each with its scope below the label.
Text value_row(std::span<const Need> scopes, const Text& label, double Need::*value, std::size_t width) {
  const bool fits = kLabel + kScopes * kColumn <= width;
  Text line = label, below;
  std::size_t begin = kLabel;  // of the scope's column
  for (const Scope scope : {Scope::cluster, Scope::node, Scope::gpu}) {
    const auto at = std::find_if(scopes.begin(), scopes.end(), [&](const Need& n) { return n.scope == scope; });
    begin += kColumn;
    if (at == scopes.end()) continue;
    const Text shown = need_value((*at).*value, at->unit);
    if (fits) {
      line += pad(shown, begin - columns(line), true);
    } else {
      below += Text::format("{}{} {}", below.empty() ? "    " : ", ", to_string(scope), shown);
    }
  }
  return fits ? line + "\n" : line + "\n" + below + "\n";
}

/// `text` after `lead`, its further lines below its first.
Text after(const Text& lead, const Text& text, std::size_t width) {
  const std::size_t indent = columns(lead);
  return lead + wrap(text, width - indent, indent) + "\n";
}

/// The same for an equation, whose parts each have a line of their own.
Text equation(const Text& lead, const std::string& text, std::size_t width) {
  Text out, first = lead;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("; ", at), text.size());
    out += after(first, text.substr(at, end - at) + (end < text.size() ? ";" : ""), width);
    first = pad("", columns(lead));
    at = end + 2;
  }
  return out;
}

/// One need: all entries share the id.
Text block(const Job& job, std::span<const Need> scopes, std::size_t width) {
  const Need& first = scopes.front();
  Text out = value_row(scopes, first.id, &Need::required, width);
  if (first.uncertainty > 0)
    out += Text::format("  known within {:.2g} % (one standard deviation)\n", first.uncertainty * 100);
  if (!first.informative)
    out += value_row(scopes,
                     first.uncertainty > 0
                         ? Text::format("  with margin {} and uncertainty {:.3g}", job.safety, first.uncertainty)
                         : Text::format("  with margin {}", job.safety),
                     &Need::need, width);
  const Text lead = Text::format("  {}: ", first.formula);
  out += equation(lead, first.named, width);
  out += equation(pad("= ", columns(lead), true), first.substituted, width);
  const auto measured =
      std::find_if(scopes.begin(), scopes.end(), [](const Need& n) { return !n.measured_by.empty(); });
  if (measured != scopes.end() && !first.informative)
    out += after("  measured by ",
                 join(measured->measured_by, ", else ") + (first.cache.empty() ? "" : ", " + first.cache), width);
  for (const JobParameter& p : first.measured_with) out += Text::format("  with {}: {}\n", p.name, p.key);
  if (first.collective)
    out += Text::format("  in messages of {} among {:.0f} ranks{}\n",
                        compact_quantity(static_cast<double>(first.collective->message_size()), Dimension::bytes),
                        first.collective->ranks,
                        first.collective->stride > 1 ? fmt::format(", {:.0f} apart", first.collective->stride) : "");
  return out + "\n";
}

/// What people call it; "" = no verdict judges it.
std::string_view judged_name(const Need& need) {
  const NeedKind* kind = find_need_kind(need.id);
  return need.informative || kind == nullptr ? std::string_view{} : kind->name;
}

/// "local_cache.fill_time" as "Local cache: fill time", for needs that only inform.
std::string readable(std::string id) {
  id.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(id.front())));
  if (const std::size_t dot = id.find('.'); dot != std::string::npos) id.replace(dot, 1, ": ");
  std::replace(id.begin(), id.end(), '_', ' ');
  return id;
}

Text shown(const std::optional<double>& value, const std::string& unit) {
  return value ? Text(need_value(*value, unit)) : Text("-");
}

}  // namespace

Answer needs_answer(const Job& job, std::span<const Need> needs, const std::string& file) {
  Text most;
  std::size_t judged = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const Need& need = needs[i];
    if (judged_name(need).empty() || (i > 0 && needs[i - 1].id == need.id)) continue;
    if (++judged <= 3)
      most += Text::format("{}{} {}", judged > 1 ? ", " : "", judged_name(need),
                           format_named(need.need, need.unit, need.id));
  }
  return {.sentence = Text::format("{} has {} requirements, on {} GPU{}. The first, with margin {}: {}.", job.name,
                                   judged, job.cluster.gpus(), job.cluster.gpus() == 1 ? "" : "s", job.safety, most),
          .next = Text::format("headrace qualify {} --at DIR  # measures whether the storage at DIR meets them",
                               shell_word(file))};
}

Text needs_table(const Job& job, std::span<const Need> needs, const Terminal& terminal) {
  const std::vector<Table::Column> scopes{{"cluster", true}, {"node", true}, {"GPU", true}};
  std::vector<Table::Column> heads{{Text::format("requirement, with margin {}", job.safety)}};
  heads.insert(heads.end(), scopes.begin(), scopes.end());
  Table judged(heads);
  heads.front() = {"for information"};
  Table others(heads);
  bool any_others = false;
  for (std::size_t i = 0, end = 0; i < needs.size(); i = end) {
    for (end = i + 1; end < needs.size() && needs[end].id == needs[i].id;) ++end;
    const std::span<const Need> one = needs.subspan(i, end - i);
    const std::string_view name = judged_name(needs[i]);
    std::vector<Text> cells{name.empty() ? Text(readable(needs[i].id)) : Text(std::string(name))};
    for (const Scope scope : {Scope::cluster, Scope::node, Scope::gpu}) {
      const auto at = std::find_if(one.begin(), one.end(), [&](const Need& n) { return n.scope == scope; });
      cells.push_back(at == one.end() ? Text() : Text(format_named(at->need, at->unit, at->id)));
    }
    (name.empty() ? others : judged).row(std::move(cells));
    any_others |= name.empty();
  }
  const std::size_t width = width_of(terminal);
  Text out = header(job, width) + "\n" + judged.text(terminal);
  if (any_others) out += "\n" + others.text(terminal);
  return out + "\n" + wrap("Each with its id, equation and numbers: --explain", width, 0) + "\n";
}

Text needs_text(const Job& job, std::span<const Need> needs, const Terminal& terminal) {
  const std::size_t width = width_of(terminal);
  Text out = header(job, width) + "\n";
  if (kLabel + kScopes * kColumn <= width)
    out += pad("need", kLabel) + pad("cluster", kColumn, true) + pad("node", kColumn, true) +
           pad("gpu", kColumn, true) + "\n";
  for (std::size_t i = 0; i < needs.size();) {
    std::size_t end = i + 1;
    while (end < needs.size() && needs[end].id == needs[i].id) ++end;
    out += block(job, needs.subspan(i, end - i), width);
    i = end;
  }
  return out + wrap("A formula's symbols, validity and source: headrace require --formula A3", width, 0) + "\n";
}

Text locked_text(const Job& job, const Terminal& terminal) {
  const auto locked = locked_needs(job);
  if (locked.empty()) return "Every need of this job has its inputs.\n";
  // Needs that wait for the same keys are reported together.
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> groups;
  for (const LockedNeed& need : locked) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == need.missing; });
    if (group == groups.end()) group = groups.insert(groups.end(), {need.missing, {}});
    if (std::find(group->second.begin(), group->second.end(), need.id) == group->second.end())
      group->second.push_back(need.id);
  }
  constexpr std::size_t kPath = 34;
  const std::size_t width = width_of(terminal);
  Text out = "More needs follow when these keys are given:\n";
  for (const auto& [keys, needs] : groups) {
    out += "\n";
    for (const std::string& need : needs) out += Text(need) + "\n";
    for (const std::string& path : keys) {
      const JobKey* key = find_job_key(path);
      const std::string about = fmt::format("{} ({})", key ? key->help : "", key ? key->allowed() : "");
      const Text lead = "  " + Text(path);
      out += width >= 2 * kPath ? after(pad(lead, kPath), about, width) : lead + "\n" + after("    ", about, width);
    }
  }
  return out;
}

Text changes_text(const Job& before, const Job& after, const std::vector<std::string>& overrides,
                  const Terminal& terminal) {
  const std::vector<NeedChange> changes = need_changes(before, after);
  Table table({{"need"}, {"scope"}, {"before", true}, {"after", true}, {"factor", true}});
  std::size_t same = 0;
  for (const NeedChange& change : changes) {
    same += change.same();
    if (change.same()) continue;
    const auto factor = change.factor();
    table.row({change.id, to_string(change.scope), shown(change.before, change.unit), shown(change.after, change.unit),
               factor ? Text::format("x {:.4g}", *factor) : Text()});
  }
  return wrap(after.name + ": " + join(overrides), width_of(terminal), 0) + "\n" +
         Text::format("needs with margin {} before, {} after\n\n", before.safety, after.safety) + table.text(terminal) +
         "\n" + Text::format("{} of {} stay the same.\n", same, changes.size());
}

Text sweep_text(const Sweep& sweep, const Terminal& terminal) {
  constexpr std::size_t kGap = 2;
  const std::size_t width = width_of(terminal);
  std::vector<Table::Column> heads;
  std::size_t used = 0;
  for (std::size_t k = 0; k < sweep.keys.size(); ++k) {
    heads.push_back({sweep.keys[k]});
    std::size_t widest = columns(heads.back().head);
    for (const SweepPoint& point : sweep.points) widest = std::max(widest, columns(point.values[k]));
    used += widest + (k > 0 ? kGap : 0);
  }
  // As many needs as fit next to the keys, the first one always.
  const std::vector<std::size_t> changing = changing_columns(sweep);
  std::vector<std::size_t> shown_columns;
  for (const std::size_t c : changing) {
    const auto& [id, scope, unit] = sweep.columns[c];
    const Text head = Text::format("{}@{}", id, to_string(scope));
    std::size_t widest = columns(head);
    for (const SweepPoint& point : sweep.points)
      if (point.needs[c] >= 0) widest = std::max(widest, need_value(point.needs[c], unit).size());
    used += kGap + widest;
    if (used > width && !shown_columns.empty()) break;
    shown_columns.push_back(c);
    heads.push_back({head, true});
  }
  Table table(heads);
  for (const SweepPoint& point : sweep.points) {
    std::vector<Text> cells(point.values.begin(), point.values.end());
    for (const std::size_t c : shown_columns)
      cells.push_back(!point.refused.empty() ? Text("")
                      : point.needs[c] < 0   ? Text("-")
                                             : Text(need_value(point.needs[c], sweep.columns[c].unit)));
    table.row(cells);
    if (!point.refused.empty()) table.remark("cannot be: " + Text(point.refused));
  }
  Text out = Text::format("{}: needs with margin\n\n{}", sweep.job, table.text(terminal));
  if (changing.size() > shown_columns.size())
    out += "\n" +
           wrap(Text::format("{} more needs change: choose with --need ID@SCOPE, or see all with --format csv.",
                             changing.size() - shown_columns.size()),
                width, 0) +
           "\n";
  if (sweep.columns.size() > changing.size())
    out += (changing.size() > shown_columns.size() ? Text() : Text("\n")) +
           Text::format("{} stay the same.\n", sweep.columns.size() - changing.size());
  return out;
}

Text job_keys_text(const Terminal& terminal) {
  constexpr std::size_t kName = 25;
  const std::size_t width = width_of(terminal);
  Text out;
  for (const JobSection& section : all_job_sections()) {
    if (!section.name.empty()) out += "\n" + wrap(Text::format("{}: {}", section.name, section.help), width, 2) + "\n";
    for (const JobKey& key : job_keys()) {
      if (key.section() != section.name) continue;
      const Text name = "  " + Text(key.name());
      const std::string meaning = fmt::format("{} ({}; {})", key.help, key.allowed(), key.shown_default());
      out += columns(name) < kName ? after(pad(name, kName), meaning, width)
                                   : name + "\n" + after(pad("", kName), meaning, width);
    }
  }
  return out;
}

}  // namespace headrace::cli
