// Reading an entry of `workloads:`, expanding its sweeps, making and naming its points.
#include "harness/engine/plan/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/config/sweep.h"
#include "harness/base/config/value_reader.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/workload/registry.h"
#include "harness/workload/workload.h"

namespace headrace {
namespace {

using config::Value;

/// Keys that mean the same for every workload.
const std::vector<std::string> kCommonKeys = {"use",    "label",   "cache",   "repeat",  "duration",  "rest",
                                              "verify", "ceiling", "exclude", "timeout", "processes", "clients"};

/// A number of repetitions. More than the most would report nothing new.
std::optional<unsigned> read_repetitions(const Value& value, std::string_view key, config::ValueReader& read) {
  constexpr double kMost = 10'000;
  const auto n = read.quantity(&value, key, Dimension::count, 1);
  if (!n) return std::nullopt;
  if (*n > kMost || *n != std::floor(*n)) {
    read.refuse(value, key, fmt::format("{} must be a whole number, 1..{}", value.text, kMost));
    return std::nullopt;
  }
  return static_cast<unsigned>(*n);
}

/// A longer time for one repetition was not meant.
constexpr double kLongest = 30 * 86400;

RepeatPlan read_repeat(const Value* value, config::ValueReader& read, const PlanOptions& options) {
  RepeatPlan plan;
  if (value != nullptr && value->is_scalar()) {
    if (const auto n = read_repetitions(*value, "repeat", read)) plan.looks = {*n};
  } else if (value != nullptr && value->is_map()) {
    read.known_keys(*value, {"looks", "budget"});
    if (const Value* looks = value->find("looks")) {
      plan.looks.clear();
      for (const Value& item : looks->items) {
        const auto n = read_repetitions(item, "repeat.looks", read);
        if (n && !plan.looks.empty() && *n <= plan.looks.back())
          read.refuse(item, "repeat.looks", "must grow: 5, 10, 15");
        if (n) plan.looks.push_back(*n);
      }
      if (plan.looks.empty()) read.refuse(*looks, "repeat.looks", "must be a list of counts, such as [5, 10, 15]");
    }
    if (const auto budget = read.quantity(value->find("budget"), "repeat.budget", Dimension::seconds, 0, kLongest)) {
      plan.budget_s = *budget;
    }
  } else if (value != nullptr) {
    read.refuse(*value, "repeat", "must be a count, or {looks: [5, 10, 15], budget: 20min}");
  }
  if (!options.looks.empty()) plan.looks = options.looks;
  if (options.budget_s) plan.budget_s = *options.budget_s;
  return plan;
}

CacheState read_cache(const Value* value, const Workload& workload, config::ValueReader& read) {
  const std::vector<CacheState> allowed = as<ReadsFiles>(workload).cache_states();
  const CacheState fallback = allowed.empty() ? CacheState::asis : allowed.front();
  if (value == nullptr) return fallback;
  std::vector<std::string> names;
  for (const CacheState state : allowed) names.emplace_back(to_string(state));
  if (allowed.empty()) {
    read.refuse(*value, "cache", "this workload reads no files, so it has no cache state");
    return fallback;
  }
  const auto state = value->is_scalar() ? parse_cache_state(value->text) : std::nullopt;
  if (!state || std::find(allowed.begin(), allowed.end(), *state) == allowed.end()) {
    read.refuse(*value, "cache",
                fmt::format("'{}' is not one of: {}{}", value->text, join(names), did_you_mean(value->text, names)));
    return fallback;
  }
  return *state;
}

/// True: one rank of each node.
bool read_processes(const Value* value, config::ValueReader& read) {
  if (value == nullptr || (value->is_scalar() && value->text == "all")) return false;
  if (value->is_scalar() && value->text == "per_node") return true;
  read.refuse(*value, "processes",
              fmt::format("'{}' is not one of: all, per_node (pairs are measured by workloads that have "
                          "a 'schedule')",
                          value->text));
  return false;
}

/// The entry without the keys that are not the workload's own.
Value own_keys(const Value& entry) {
  Value own = entry;
  std::erase_if(own.entries, [](const Value::Entry& e) {
    return std::find(kCommonKeys.begin(), kCommonKeys.end(), e.key) != kCommonKeys.end();
  });
  return own;
}

std::string point_id(std::string_view workload, const std::string& label, const config::Combination& one) {
  std::string id(workload);
  if (!label.empty()) id += "/" + label;
  for (const auto& [key, value] : one.swept) id += fmt::format("/{}:{}", key, value);
  return id;
}

/// One resolved entry of config.resolved.yaml. Only its label separates points of one sweep. So the same point has the
/// same id when the entry is run by itself.
Value resolved_entry(const Point& point, const Params& params) {
  const std::string label = point.id.substr(std::min(point.id.size(), point.info->name.size() + 1));
  Value entry;
  entry.kind = Value::Kind::map;
  const auto put = [&](std::string_view key, std::string text) { entry.set(key, Value::scalar(std::move(text), {})); };
  put("use", std::string(point.info->name));
  if (!label.empty()) put("label", label);
  if (!as<ReadsFiles>(*point.workload).cache_states().empty()) put("cache", std::string(to_string(point.cache)));
  for (const auto& [key, text] : params.written()) put(key, text);
  if (point.duration_s > 0) put("duration", exact_quantity(point.duration_s, Dimension::seconds));
  if (point.rest_s > 0) put("rest", exact_quantity(point.rest_s, Dimension::seconds));
  if (point.timeout_s > 0) put("timeout", exact_quantity(point.timeout_s, Dimension::seconds));
  if (point.verify) put("verify", "true");
  if (const auto said = point.params.find("processes"); said != point.params.end())
    put("processes", std::get<std::string>(said->second));
  if (point.clients > 0) put("clients", std::to_string(point.clients));
  if (point.ceiling) put("ceiling", exact_quantity(*point.ceiling, Dimension::bytes_per_second));
  Value repeat, looks;
  repeat.kind = Value::Kind::map;
  looks.kind = Value::Kind::list;
  for (const unsigned n : point.repeat.looks) looks.items.push_back(Value::scalar(std::to_string(n), {}));
  repeat.set("looks", looks);
  repeat.set("budget", Value::scalar(exact_quantity(point.repeat.budget_s, Dimension::seconds), {}));
  entry.set("repeat", repeat);
  return entry;
}

bool reads_files(const WorkloadInfo& info) {
  Value nothing;
  nothing.kind = Value::Kind::map;
  Diagnostics ignored;
  Params params(std::string(info.name), nothing, ignored);
  return !as<ReadsFiles>(*info.make(params)).cache_states().empty();
}

constexpr std::string_view kNeed = "need";

bool is_need(const Value* value) { return value != nullptr && value->is_scalar() && value->text == kNeed; }

void replace(config::Combination& one, const char* key, std::uint64_t value, const char* unit) {
  const Value* old = one.entry.find(key);
  const Location where = old != nullptr ? old->where : one.entry.where;
  std::erase_if(one.entry.entries, [&](const Value::Entry& e) { return e.key == key; });
  one.entry.set(key, Value::scalar(fmt::format("{}{}", value, unit), where));
}

/// `message_size: need` and `group: need`: the job's own, a combination for each of its collectives
/// that the workload measures. Several needs of one collective are one.
std::vector<config::Combination> follow_job(const WorkloadInfo& info, config::Combination one, const JobNeeds* job,
                                            config::ValueReader& read) {
  const bool sizes = is_need(one.entry.find("message_size"));
  const Value* group = one.entry.find("group");
  const bool groups = is_need(group);
  if (groups && !sizes) {
    read.refuse(*group, "group", "need goes with message_size: need, whose group it is");
    std::erase_if(one.entry.entries, [](const Value::Entry& e) { return e.key == "group"; });
  }
  if (!sizes) return {std::move(one)};
  std::erase_if(one.swept, [](const auto& s) { return s.second == kNeed; });
  std::vector<config::Combination> all;
  std::vector<const job::JobCollective*> taken;
  for (const job::Need& need : job ? job->collectives : std::vector<job::Need>{}) {
    const job::JobCollective& c = *need.collective;
    const bool measures = std::any_of(need.measured_by.begin(), need.measured_by.end(),
                                      [&](const std::string& m) { return m.substr(0, m.find('.')) == info.name; });
    const bool there = std::any_of(taken.begin(), taken.end(), [&](const auto* t) {
      return t->message_size() == c.message_size() && t->ranks == c.ranks && t->stride == c.stride;
    });
    if (!measures || there) continue;
    taken.push_back(&c);
    config::Combination& its = all.emplace_back(one);
    its.swept.emplace_back(kNeed, need.id.substr(need.id.find('.') + 1));
    replace(its, "message_size", c.message_size(), "B");
    if (!groups) continue;
    std::erase_if(its.entry.entries, [](const Value::Entry& e) { return e.key == "group"; });
    replace(its, "group_size", static_cast<std::uint64_t>(c.ranks), "");
    replace(its, "group_stride", static_cast<std::uint64_t>(c.stride), "");
  }
  return all;
}

Point make_point(const WorkloadInfo& info, const config::Combination& one, const std::map<std::string, double>* needed,
                 const PlanOptions& options, Diagnostics& problems) {
  config::ValueReader read(problems, std::string(info.name));
  const Value own = own_keys(one.entry);
  Params params(std::string(info.name), own, problems, needed, is_object_path(options.target_path));
  Point point;
  point.info = &info;
  point.workload = info.make(params);
  params.finish(kCommonKeys);
  point.params = params.resolved();
  point.where = one.entry.where;
  const std::string label = read.text(one.entry.find("label"), "label");
  point.id = point_id(info.name, label, one);
  point.cache = read_cache(one.entry.find("cache"), *point.workload, read);
  point.repeat = read_repeat(one.entry.find("repeat"), read, options);
  point.verify = read.flag(one.entry.find("verify"), "verify");
  point.duration_s = read.quantity(one.entry.find("duration"), "duration", Dimension::seconds, 0, kLongest).value_or(0);
  point.rest_s = read.quantity(one.entry.find("rest"), "rest", Dimension::seconds, 0, kLongest).value_or(0);
  point.timeout_s = read.quantity(one.entry.find("timeout"), "timeout", Dimension::seconds, 0.1, kLongest).value_or(0);
  const Value* processes = one.entry.find("processes");
  point.one_per_node = processes == nullptr ? info.traits.one_per_node : read_processes(processes, read);
  point.clients =
      static_cast<unsigned>(read.quantity(one.entry.find("clients"), "clients", Dimension::count, 1, 1e6).value_or(0));
  point.ceiling = read.quantity(one.entry.find("ceiling"), "ceiling", Dimension::bytes_per_second, 1);
  // Implied values are no parameters.
  if (processes != nullptr && (point.one_per_node || info.traits.one_per_node))
    point.params["processes"] = std::string(point.one_per_node ? "per_node" : "all");
  if (point.clients > 0) point.params["clients"] = std::uint64_t{point.clients};
  point.resolved = resolved_entry(point, params);
  return point;
}

}  // namespace

std::vector<Point> make_points(const Value& written, const Value* defaults, const JobNeeds* job,
                               const PlanOptions& options, Diagnostics& problems) {
  const Value* use = written.find("use");
  if (use == nullptr || !use->is_scalar()) {
    problems.error(written.where, "every entry of workloads needs 'use: NAME' (headrace list shows the names)");
    return {};
  }
  const WorkloadInfo* info = Registry::instance().find(use->text);
  if (info == nullptr) {
    const auto known = Registry::instance().names();
    problems.error(use->where, fmt::format("use: no workload '{}'{} (known: {})", use->text,
                                           did_you_mean(use->text, known), join(known)));
    return {};
  }
  Value entry = written;
  if (defaults != nullptr) {
    for (const Value::Entry& d : defaults->entries) {
      if (entry.find(d.key) != nullptr) continue;
      if (d.key == "cache" && !reads_files(*info)) continue;
      entry.entries.push_back(d);
    }
  }
  std::vector<Point> points;
  for (config::Combination& one : config::expand(entry, {"repeat", "exclude"}, options.max_points, problems)) {
    config::ValueReader read(problems, std::string(info->name));
    for (const config::Combination& its : follow_job(*info, std::move(one), job, read))
      points.push_back(make_point(*info, its, job ? &job->of_node : nullptr, options, problems));
  }
  return points;
}

}  // namespace headrace
