// From configuration and job to points: resolving, checking, naming.
#include "harness/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/config/layers.h"
#include "harness/config/sweep.h"
#include "harness/registry.h"
#include "harness/units.h"

namespace headrace {
namespace {

using config::Value;

const std::vector<std::string> kTopKeys = {"schema", "name",  "description", "target",
                                           "seed",   "needs", "defaults",    "workloads"};
/// Keys that mean the same for every workload.
const std::vector<std::string> kCommonKeys = {"use",  "label",  "cache",   "repeat", "duration",
                                              "rest", "verify", "ceiling", "exclude"};

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

/// Reads single values of the configuration; a wrong one is a problem and reads as nothing.
class Reader {
 public:
  Reader(Diagnostics& problems, std::string owner)
      : problems_(problems), owner_(std::move(owner)) {}

  std::optional<double> quantity(const Value* value, std::string_view key, Dimension dimension,
                                 double min) {
    if (value == nullptr) return std::nullopt;
    if (!value->is_scalar()) return refuse(*value, key, "must be one value");
    const Parsed parsed = parse_quantity(value->text, dimension);
    if (!parsed) return refuse(*value, key, fmt::format("'{}' {}", value->text, parsed.error));
    if (parsed.value < min)
      return refuse(*value, key, fmt::format("{} must be {:g} or more", value->text, min));
    return parsed.value;
  }

  bool flag(const Value* value, std::string_view key) {
    if (value == nullptr) return false;
    if (value->text != "true" && value->text != "false")
      refuse(*value, key, "must be true or false");
    return value->text == "true";
  }

  std::string text(const Value* value, std::string_view key) {
    if (value == nullptr) return "";
    if (!value->is_scalar()) refuse(*value, key, "must be text");
    return value->text;
  }

  void known_keys(const Value& map, const std::vector<std::string>& known) {
    for (const Value::Entry& entry : map.entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
      problems_.error(entry.key_where,
                      fmt::format("{}unknown key '{}'{} (keys: {})", prefix(), entry.key,
                                  did_you_mean(entry.key, known), join(known)));
    }
  }

  std::nullopt_t refuse(const Value& value, std::string_view key, const std::string& why) {
    problems_.error(value.where, fmt::format("{}{}: {}", prefix(), key, why));
    return std::nullopt;
  }

 private:
  std::string prefix() const { return owner_.empty() ? "" : owner_ + ": "; }
  Diagnostics& problems_;
  std::string owner_;
};

RepeatPlan read_repeat(const Value* value, Reader& read, const PlanOptions& options) {
  RepeatPlan plan;
  if (value != nullptr && value->is_scalar()) {
    if (const auto n = read.quantity(value, "repeat", Dimension::count, 1))
      plan.looks = {static_cast<unsigned>(*n)};
  } else if (value != nullptr && value->is_map()) {
    read.known_keys(*value, {"looks", "budget"});
    if (const Value* looks = value->find("looks")) {
      plan.looks.clear();
      for (const Value& item : looks->items) {
        const auto n = read.quantity(&item, "repeat.looks", Dimension::count, 1);
        if (n && !plan.looks.empty() && *n <= plan.looks.back())
          read.refuse(item, "repeat.looks", "must grow: 5, 10, 15");
        if (n) plan.looks.push_back(static_cast<unsigned>(*n));
      }
      if (plan.looks.empty())
        read.refuse(*looks, "repeat.looks", "must be a list of counts, such as [5, 10, 15]");
    }
    if (const auto budget =
            read.quantity(value->find("budget"), "repeat.budget", Dimension::seconds, 0)) {
      plan.budget_s = *budget;
    }
  } else if (value != nullptr) {
    read.refuse(*value, "repeat", "must be a count, or {looks: [5, 10, 15], budget: 20m}");
  }
  if (!options.looks.empty()) plan.looks = options.looks;
  if (options.budget_s) plan.budget_s = *options.budget_s;
  return plan;
}

CacheState read_cache(const Value* value, const Workload& workload, Reader& read) {
  const std::vector<CacheState> allowed = workload.cache_states();
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
                fmt::format("'{}' is not one of: {}{}", value->text, join(names),
                            did_you_mean(value->text, names)));
    return fallback;
  }
  return *state;
}

/// The entry without the keys that are not the workload's own.
Value own_keys(const Value& entry) {
  Value own = entry;
  std::erase_if(own.entries, [](const Value::Entry& e) {
    return std::find(kCommonKeys.begin(), kCommonKeys.end(), e.key) != kCommonKeys.end();
  });
  return own;
}

std::string point_id(std::string_view workload, const std::string& label,
                     const config::Combination& one) {
  std::string id(workload);
  if (!label.empty()) id += "/" + label;
  for (const auto& [key, value] : one.swept) id += fmt::format("/{}:{}", key, value);
  return id;
}

/// One resolved entry of config.resolved.yaml.
Value resolved_entry(const Point& point, const std::string& label, const Params& params) {
  Value entry;
  entry.kind = Value::Kind::map;
  const auto put = [&](std::string_view key, std::string text) {
    entry.set(key, Value::scalar(std::move(text), {}));
  };
  put("use", std::string(point.info->name));
  if (!label.empty()) put("label", label);
  if (!point.workload->cache_states().empty()) put("cache", std::string(to_string(point.cache)));
  for (const auto& [key, text] : params.written()) put(key, text);
  if (point.duration_s > 0) put("duration", fmt::format("{:g}s", point.duration_s));
  if (point.rest_s > 0) put("rest", fmt::format("{:g}s", point.rest_s));
  if (point.verify) put("verify", "true");
  if (point.ceiling) put("ceiling", fmt::format("{:.0f}B/s", *point.ceiling));
  Value repeat, looks;
  repeat.kind = Value::Kind::map;
  looks.kind = Value::Kind::list;
  for (const unsigned n : point.repeat.looks)
    looks.items.push_back(Value::scalar(std::to_string(n), {}));
  repeat.set("looks", looks);
  repeat.set("budget", Value::scalar(fmt::format("{:g}s", point.repeat.budget_s), {}));
  entry.set("repeat", repeat);
  return entry;
}

class Planner {
 public:
  explicit Planner(const PlanOptions& options) : options_(options) {}

  Plan make() {
    Value root = config::load_layers(options_.config_file, options_.overrides, problems_);
    load_job();
    std::map<std::string, std::string> names;
    if (plan_.job) {
      for (const auto& [key, text] : plan_.job->values) names["job." + key] = text;
    }
    config::substitute(
        root, names,
        plan_.job ? "" : "names of the form job.KEY come from the job: give one with --job",
        problems_);
    plan_.config_file = options_.config_file;
    read_top(root);
    if (const Value* workloads = root.find("workloads");
        workloads == nullptr || !workloads->is_list()) {
      problems_.error(workloads ? workloads->where : root.where,
                      "workloads: must be a list, such as '- use: small_file_read'");
    } else {
      for (const Value& entry : workloads->items) add_entry(entry, root.find("defaults"));
    }
    read_needs(root.find("needs"));
    select_points();
    problems_.throw_if_any();
    finish();
    return std::move(plan_);
  }

 private:
  void load_job() {
    if (options_.job_file.empty()) {
      for (const std::string& o : options_.job_overrides) {
        problems_.error({"--set", 0, 0},
                        fmt::format("job.{}: there is no job; give one with --job FILE", o));
      }
      return;
    }
    try {
      plan_.job = requirements::load_job(options_.job_file, options_.job_overrides);
    } catch (const UsageError& e) {
      job_problems_ = e.what();
      // Told together with the configuration's own problems.
      problems_.error({}, job_problems_);
    }
  }

  void read_top(const Value& root) {
    Reader read(problems_, "");
    read.known_keys(root, kTopKeys);
    const Value* schema = root.find("schema");
    if (schema == nullptr || schema->text != "1") {
      problems_.error(schema ? schema->where : root.where,
                      "schema: must be 1 (this version reads schema 1)");
    }
    plan_.name = read.text(root.find("name"), "name");
    if (plan_.name.empty())
      plan_.name = std::filesystem::path(options_.config_file).stem().string();
    plan_.target_path = "headrace-scratch";
    if (const Value* target = root.find("target")) {
      if (!target->is_map()) {
        read.refuse(*target, "target", "must be a map: {path: ./scratch, max_write: 4GiB}");
      } else {
        read.known_keys(*target, {"path", "max_write"});
        if (const Value* path = target->find("path"))
          plan_.target_path = read.text(path, "target.path");
        if (const auto most =
                read.quantity(target->find("max_write"), "target.max_write", Dimension::bytes, 1)) {
          plan_.max_write = static_cast<std::uint64_t>(*most);
        }
      }
    }
    plan_.target_path = std::filesystem::absolute(plan_.target_path).lexically_normal().string();
    if (const auto seed = read.quantity(root.find("seed"), "seed", Dimension::count, 0)) {
      plan_.seed = static_cast<std::uint64_t>(*seed);
    }
    if (options_.seed) plan_.seed = *options_.seed;
    if (const Value* defaults = root.find("defaults"))
      read.known_keys(*defaults, {"cache", "repeat", "duration", "rest", "verify"});
  }

  void add_entry(const Value& written, const Value* defaults) {
    const Value* use = written.find("use");
    if (use == nullptr || !use->is_scalar()) {
      problems_.error(written.where,
                      "every entry of workloads needs 'use: NAME' (headrace list shows the names)");
      return;
    }
    const WorkloadInfo* info = Registry::instance().find(use->text);
    if (info == nullptr) {
      const auto known = Registry::instance().names();
      problems_.error(use->where, fmt::format("use: no workload '{}'{} (known: {})", use->text,
                                              did_you_mean(use->text, known), join(known)));
      return;
    }
    Value entry = written;
    if (defaults != nullptr) {
      for (const Value::Entry& d : defaults->entries) {
        if (entry.find(d.key) != nullptr) continue;
        if (d.key == "cache" && !reads_files(*info)) continue;
        entry.entries.push_back(d);
      }
    }
    for (config::Combination& one :
         config::expand(entry, {"repeat", "exclude"}, options_.max_points, problems_)) {
      add_point(*info, one);
    }
  }

  static bool reads_files(const WorkloadInfo& info) {
    Value nothing;
    nothing.kind = Value::Kind::map;
    Diagnostics ignored;
    Params params(std::string(info.name), nothing, ignored);
    return !info.make(params)->cache_states().empty();
  }

  void add_point(const WorkloadInfo& info, const config::Combination& one) {
    Reader read(problems_, std::string(info.name));
    const Value own = own_keys(one.entry);
    Params params(std::string(info.name), own, problems_);
    Point point;
    point.info = &info;
    point.workload = info.make(params);
    params.finish(kCommonKeys);
    point.params = params.resolved();
    point.where = one.entry.where;
    const std::string label = read.text(one.entry.find("label"), "label");
    point.id = point_id(info.name, label, one);
    point.cache = read_cache(one.entry.find("cache"), *point.workload, read);
    point.repeat = read_repeat(one.entry.find("repeat"), read, options_);
    point.verify = read.flag(one.entry.find("verify"), "verify");
    point.duration_s =
        read.quantity(one.entry.find("duration"), "duration", Dimension::seconds, 0).value_or(0);
    point.rest_s = read.quantity(one.entry.find("rest"), "rest", Dimension::seconds, 0).value_or(0);
    point.ceiling =
        read.quantity(one.entry.find("ceiling"), "ceiling", Dimension::bytes_per_second, 1);
    if (!ids_.insert(point.id).second) {
      problems_.error(
          point.where,
          fmt::format("{}: a second point with this name; give one a 'label:'", point.id));
    }
    point.resolved = resolved_entry(point, label, params);
    plan_.points.push_back(std::move(point));
  }

  void read_needs(const Value* needs) {
    std::vector<std::pair<std::string, Location>> patterns;
    if (needs != nullptr && !needs->is_list()) {
      problems_.error(
          needs->where,
          "needs: must be a list of names such as ingest.*, or of {id, metric, at_least}");
    } else if (needs != nullptr) {
      for (const Value& item : needs->items) {
        if (item.is_scalar()) {
          patterns.emplace_back(item.text, item.where);
        } else {
          declare_need(item);
        }
      }
    } else {
      patterns.emplace_back("*", Location{});
    }
    if (plan_.job) ask_needs(patterns);
  }

  void declare_need(const Value& item) {
    Reader read(problems_, "needs");
    read.known_keys(item, {"id", "metric", "at_least", "at_most", "source"});
    DeclaredNeed need;
    need.where = item.where;
    need.id = read.text(item.find("id"), "id");
    need.metric = read.text(item.find("metric"), "metric");
    need.source = read.text(item.find("source"), "source");
    const Value* least = item.find("at_least");
    const Value* most = item.find("at_most");
    if (need.id.empty() || need.metric.empty() || (least == nullptr) == (most == nullptr)) {
      problems_.error(
          item.where,
          "needs: each needs id, metric (workload.metric) and one of at_least or at_most");
      return;
    }
    const std::size_t dot = need.metric.find('.');
    const WorkloadInfo* info = Registry::instance().find(need.metric.substr(0, dot));
    const Metric* metric = nullptr;
    std::vector<std::string> known;
    if (info != nullptr && dot != std::string::npos) {
      for (const auto& list : {info->metrics, standard_metrics()}) {
        for (const Metric& m : list) {
          known.push_back(fmt::format("{}.{}", info->name, m.name));
          if (m.name == std::string_view(need.metric).substr(dot + 1)) metric = &m;
        }
      }
    } else {
      for (const std::string& name : Registry::instance().names())
        known.push_back(name + ".METRIC");
    }
    if (metric == nullptr) {
      problems_.error(item.find("metric")->where,
                      fmt::format("needs: no metric '{}'{} (known: {})", need.metric,
                                  did_you_mean(need.metric, known), join(known)));
      return;
    }
    need.at_least = least != nullptr;
    need.unit = metric->unit;
    const Value* value = least != nullptr ? least : most;
    const bool in_ns = need.unit == "ns";
    const Dimension dimension = in_ns || need.unit == "s" ? Dimension::seconds
                                : need.unit == "B/s"      ? Dimension::bytes_per_second
                                : need.unit == "1/s"      ? Dimension::per_second
                                : need.unit == "B"        ? Dimension::bytes
                                                          : Dimension::ratio;
    if (const auto v = read.quantity(value, least ? "at_least" : "at_most", dimension, 0)) {
      need.value = in_ns ? *v * 1e9 : *v;
    }
    plan_.declared_needs.push_back(std::move(need));
  }

  /// Which of the job's needs this run can and should judge: node scope, once per need; the
  /// cluster's own needs (and those of single GPUs) only where one node or one GPU can answer for
  /// them.
  void ask_needs(const std::vector<std::pair<std::string, Location>>& patterns) {
    using requirements::Scope;
    const auto all = requirements::derive_needs(*plan_.job);
    std::set<std::string> at_node;
    std::vector<std::string> ids;
    for (const auto& need : all) {
      if (need.scope == Scope::node) at_node.insert(need.id);
      if (std::find(ids.begin(), ids.end(), need.id) == ids.end()) ids.push_back(need.id);
    }
    for (const auto& [pattern, where] : patterns) {
      if (pattern.find_first_of("*?") != std::string::npos) continue;
      if (std::find(ids.begin(), ids.end(), pattern) == ids.end()) {
        problems_.error(where, fmt::format("needs: this job has no need '{}'{} (it has: {})",
                                           pattern, did_you_mean(pattern, ids), join(ids)));
      }
    }
    for (const auto& need : all) {
      if (need.informative) continue;
      const bool wanted = std::any_of(patterns.begin(), patterns.end(), [&](const auto& p) {
        return config::glob_match(p.first, need.id);
      });
      const bool of_gpu = need.id.rfind("gpu.", 0) == 0 || need.id.rfind("network.", 0) == 0;
      const bool judged = need.scope == Scope::node || (need.scope == Scope::gpu && of_gpu) ||
                          (need.scope == Scope::cluster && !at_node.count(need.id));
      if (!judged) continue;
      if (wanted) {
        plan_.needs.push_back(need);
      } else if (std::find(plan_.not_asked.begin(), plan_.not_asked.end(), need.id) ==
                 plan_.not_asked.end()) {
        plan_.not_asked.push_back(need.id);
      }
    }
  }

  void select_points() {
    const auto matches = [](const std::vector<std::string>& globs, const Point& point) {
      return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
        return config::glob_match(glob, point.id) || config::glob_match(glob, point.info->name);
      });
    };
    std::vector<std::string> ids;
    for (const Point& point : plan_.points) ids.push_back(point.id);
    for (const auto* globs : {&options_.only, &options_.skip}) {
      for (const std::string& glob : *globs) {
        if (std::none_of(plan_.points.begin(), plan_.points.end(),
                         [&](const Point& p) { return matches({glob}, p); })) {
          problems_.error({globs == &options_.only ? "--only" : "--skip", 0, 0},
                          fmt::format("'{}' matches no point{} (points: {})", glob,
                                      did_you_mean(glob, ids), join(ids)));
        }
      }
    }
    std::erase_if(plan_.points, [&](const Point& p) {
      return (!options_.only.empty() && !matches(options_.only, p)) || matches(options_.skip, p);
    });
    if (plan_.points.empty() && problems_.empty()) {
      problems_.error({options_.config_file, 0, 0}, "nothing to run: no point is left");
    }
  }

  void finish() {
    Value& root = plan_.resolved;
    root.kind = Value::Kind::map;
    root.set("schema", Value::scalar("1", {}));
    root.set("name", Value::scalar(plan_.name, {}));
    root.set("seed", Value::scalar(std::to_string(plan_.seed), {}));
    Value needs, workloads;
    needs.kind = workloads.kind = Value::Kind::list;
    for (const auto& need : plan_.needs) {
      const bool there = std::any_of(needs.items.begin(), needs.items.end(),
                                     [&](const Value& v) { return v.text == need.id; });
      if (!there) needs.items.push_back(Value::scalar(need.id, {}));
    }
    for (const DeclaredNeed& need : plan_.declared_needs) {
      Value item;
      item.kind = Value::Kind::map;
      item.set("id", Value::scalar(need.id, {}));
      item.set("metric", Value::scalar(need.metric, {}));
      const bool in_ns = need.unit == "ns";
      const std::string unit = in_ns                                          ? "s"
                               : need.unit == "1/s"                           ? "/s"
                               : need.unit == "ratio" || need.unit == "count" ? ""
                                                                              : need.unit;
      item.set(need.at_least ? "at_least" : "at_most",
               Value::scalar(fmt::format("{:.15g}{}", in_ns ? need.value * 1e-9 : need.value, unit),
                             {}));
      if (!need.source.empty()) item.set("source", Value::scalar(need.source, {}));
      needs.items.push_back(std::move(item));
    }
    for (const Point& point : plan_.points) workloads.items.push_back(point.resolved);
    root.set("needs", std::move(needs));
    root.set("workloads", std::move(workloads));
    plan_.config_hash = fmt::format("{:016x}", fnv1a(config::to_yaml(root)));
    Value target;
    target.kind = Value::Kind::map;
    target.set("path", Value::scalar(plan_.target_path, {}));
    if (plan_.max_write > 0)
      target.set("max_write", Value::scalar(fmt::format("{}B", plan_.max_write), {}));
    root.set("target", std::move(target));
  }

  const PlanOptions& options_;
  Diagnostics problems_;
  std::string job_problems_;
  std::set<std::string> ids_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const PlanOptions& options) { return Planner(options).make(); }

}  // namespace headrace
