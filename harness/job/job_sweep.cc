// Making the points of a sweep and their needs; CSV and JSON.
#include "harness/job/job_sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/config/sweep.h"
#include "harness/base/escape.h"
#include "harness/base/glob.h"
#include "harness/base/version.h"
#include "harness/job/formula.h"

namespace headrace::job {
namespace {

constexpr std::size_t kMostPoints = 50000;

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

Axis parse_axis(const std::string& text, Diagnostics& problems) {
  const Location where{"--sweep", 0, 0};
  const std::size_t equals = text.find('=');
  Axis axis{text.substr(0, equals), {}};
  if (equals == std::string::npos || equals == 0) {
    problems.error(where, fmt::format("'{}': write key=first..last*factor or key=a,b,c", text));
    return axis;
  }
  const std::string values = text.substr(equals + 1);
  axis.values = config::expand_range(values, where, problems);
  if (!axis.values.empty()) return axis;
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t end = std::min(values.find(',', at), values.size());
    axis.values.push_back(values.substr(at, end - at));
    at = end + 1;
  }
  return axis;
}

/// Every combination, the last axis running fastest.
std::vector<std::vector<std::string>> cross(const std::vector<Axis>& axes, Diagnostics& problems) {
  std::size_t total = 1;
  for (const Axis& axis : axes)
    if (axis.values.empty() || (total *= axis.values.size()) > kMostPoints) {
      problems.error({"--sweep", 0, 0}, fmt::format("more than {} points, or none", kMostPoints));
      return {};
    }
  std::vector<std::vector<std::string>> all(total);
  for (std::size_t i = 0; i < total; ++i) {
    std::size_t rest = i;
    all[i].resize(axes.size());
    for (std::size_t a = axes.size(); a-- > 0;) {
      all[i][a] = axes[a].values[rest % axes[a].values.size()];
      rest /= axes[a].values.size();
    }
  }
  return all;
}

bool is_match(const std::string& pattern, const std::string& id, Scope scope) {
  return glob_match(pattern, id) || glob_match(pattern, fmt::format("{}@{}", id, to_string(scope)));
}

bool is_wanted(const Need& need, const std::vector<std::string>& wanted) {
  return wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const std::string& pattern) {
           return is_match(pattern, need.id, need.scope);
         });
}

/// `known`: the needs of all points. Throws UsageError where a pattern matches no column.
void require_wanted(const std::vector<std::string>& wanted, const std::set<std::string>& known,
                    const std::vector<SweepColumn>& columns) {
  for (const std::string& pattern : wanted)
    if (std::none_of(columns.begin(), columns.end(),
                     [&](const SweepColumn& c) { return is_match(pattern, c.id, c.scope); }))
      throw UsageError(fmt::format("--need '{}' matches no need (needs: {})", pattern, fmt::join(known, ", ")));
}

/// Puts a point's needs under the columns, new columns at the end.
void fill(std::vector<Need> needs, const std::vector<std::string>& wanted, Sweep& sweep, SweepPoint& point) {
  point.needs.assign(sweep.columns.size(), -1);
  std::size_t guess = 0;  // needs come in the same order at nearly every point
  for (Need& need : needs) {
    const auto same = [&](const SweepColumn& c) { return c.scope == need.scope && c.id == need.id; };
    if (guess >= sweep.columns.size() || !same(sweep.columns[guess])) {
      guess = static_cast<std::size_t>(std::find_if(sweep.columns.begin(), sweep.columns.end(), same) -
                                       sweep.columns.begin());
      if (guess == sweep.columns.size()) {
        if (!is_wanted(need, wanted)) continue;
        sweep.columns.push_back({need.id, need.scope, need.unit});
        point.needs.push_back(-1);
      }
    }
    point.needs[guess++] = need.need;
  }
}

/// The first problem, without its place: all come from the same swept value.
std::string first_problem(const Diagnostics& problems) { return problems.errors().front().text; }

}  // namespace

Sweep sweep_job(const config::Value& root, const std::vector<std::string>& axes,
                const std::vector<std::string>& wanted) {
  Diagnostics problems;
  std::vector<Axis> parsed;
  for (const std::string& axis : axes) parsed.push_back(parse_axis(axis, problems));
  problems.throw_if_any();
  Sweep sweep;
  for (const Axis& axis : parsed) sweep.keys.push_back(axis.key);
  const auto combinations = cross(parsed, problems);
  problems.throw_if_any();

  config::Value at_point = root;
  std::string why;
  bool any = false;
  std::set<std::string> known;
  for (const auto& values : combinations) {
    SweepPoint point{values, "", {}};
    Diagnostics wrong;
    for (std::size_t i = 0; i < values.size(); ++i)
      config::apply_override(at_point, sweep.keys[i] + '=' + values[i], wrong);
    const Job job = wrong.empty() ? parse_job(at_point, wrong) : Job{};
    if (!wrong.empty()) {
      point.refused = first_problem(wrong);
      if (why.empty()) why = to_string(wrong.errors().front());
    } else {
      sweep.job = job.name;
      try {
        std::vector<Need> needs = derive_need_values(job);
        for (const Need& need : needs) known.insert(need.id);
        fill(std::move(needs), wanted, sweep, point);
        any = true;
      } catch (const DomainError& e) {
        point.refused = e.what();
        if (why.empty()) why = e.what();
      }
    }
    sweep.points.push_back(std::move(point));
  }
  if (!any) throw UsageError("--sweep: no point is a job that can be: " + why);
  require_wanted(wanted, known, sweep.columns);
  for (SweepPoint& point : sweep.points) point.needs.resize(sweep.columns.size(), -1);
  return sweep;
}

std::vector<std::size_t> changing_columns(const Sweep& sweep) {
  std::vector<std::size_t> changing;
  for (std::size_t c = 0; c < sweep.columns.size(); ++c) {
    double first = -1;
    for (const SweepPoint& point : sweep.points) {
      if (point.needs[c] < 0) continue;
      if (first >= 0 && point.needs[c] != first) {
        changing.push_back(c);
        break;
      }
      first = point.needs[c];
    }
  }
  return changing;
}

std::string sweep_csv(const Sweep& sweep) {
  std::string out;
  for (const std::string& key : sweep.keys) out += csv_field(key) + ',';
  for (const SweepColumn& column : sweep.columns)
    out += csv_field(fmt::format("{}@{} [{}]", column.id, to_string(column.scope), column.unit)) + ',';
  out += "refused\n";
  for (const SweepPoint& point : sweep.points) {
    for (const std::string& value : point.values) out += csv_field(value) + ',';
    for (const double need : point.needs) out += need < 0 ? "," : fmt::format("{},", need);
    out += csv_field(point.refused) + '\n';
  }
  return out;
}

std::string sweep_json(const Sweep& sweep) {
  using Json = nlohmann::ordered_json;
  Json root{{"schema", 1},
            {"kind", "headrace.sweep"},
            {"headrace", {{"version", kVersion}, {"revision", kRevision}}},
            {"job", sweep.job},
            {"keys", sweep.keys},
            {"needs", Json::array()},
            {"points", Json::array()}};
  for (const SweepColumn& column : sweep.columns)
    root["needs"].push_back({{"id", column.id}, {"scope", to_string(column.scope)}, {"unit", column.unit}});
  for (const SweepPoint& point : sweep.points) {
    Json needs = Json::array();
    for (const double need : point.needs) needs.push_back(need < 0 ? Json(nullptr) : Json(need));
    Json entry{{"values", point.values}, {"needs", std::move(needs)}};
    if (!point.refused.empty()) entry["refused"] = point.refused;
    root["points"].push_back(std::move(entry));
  }
  return root.dump() + '\n';
}

}  // namespace headrace::job
