// From configuration and job to points: resolving, checking, naming.
#include "harness/engine/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/backends/engines.h"
#include "harness/backends/loader.h"
#include "harness/base/config/layers.h"
#include "harness/base/config/value_reader.h"
#include "harness/base/data_path.h"
#include "harness/base/glob.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/engine/plan/asked_needs.h"
#include "harness/engine/plan/from_job.h"
#include "harness/engine/plan/own_data.h"
#include "harness/engine/plan/points.h"
#include "harness/engine/plan/rehearsal.h"
#include "harness/engine/plan/time_share.h"
#include "harness/machine/node.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/workload.h"

namespace headrace {
namespace {

using config::Value;

const std::vector<std::string> kDefaultKeys = {"cache", "repeat", "duration", "rest", "timeout", "verify"};
constexpr std::size_t kLongestName = 200;
constexpr const char* kOfJob = "job";      // workloads: job
constexpr const char* kMaxWrite = "4GiB";  // of a job without a configuration
constexpr double kMostOfSeveral = 0x1p32;  // bytes, where several processes, or a store, have no limit
constexpr double kBudget_s = 300;
constexpr double kUsable = 0.95;  // names and metadata take space, too

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

class Planner {
 public:
  explicit Planner(const PlanOptions& options) : options_(options) {}

  Plan make() { return make(read_config()); }

  Plan make(Value root) {
    load_job();
    std::map<std::string, std::string> names;
    if (plan_.job) {
      for (const auto& [key, text] : plan_.job->values) names["job." + key] = text;
      if (const auto& each = plan_.job->loader.workers_per_gpu)
        names["job.loader.workers_per_node"] =
            fmt::format("{:.0f}", std::max(1.0, *each) * plan_.job->cluster.gpus_per_node);
      const auto& data = plan_.job->dataset;
      const bool files = data.layout == job::Layout::files;
      names["job.dataset.file_size"] =
          fmt::format("{:.0f}B", std::max(1.0, data.sample_size * (files ? data.samples_per_file : 1)));
      names["job.dataset.files"] = fmt::format("{}", files_that_fit(root));
    }
    config::substitute(root, names, plan_.job ? "" : "names of the form job.KEY come from the job: give one with --job",
                       problems_);
    plan_.from_job = options_.config_file.empty() && !options_.job_file.empty();
    plan_.config_file = plan_.from_job ? options_.job_file : options_.config_file;
    read_top(root);
    const Value* workloads = root.find("workloads");
    const bool of_job = workloads != nullptr && workloads->is_scalar() && workloads->text == kOfJob;
    if (of_job) {
      follow_job(*workloads);
    } else if (workloads == nullptr || !workloads->is_list()) {
      problems_.error(workloads ? workloads->where : root.where,
                      "workloads: must be 'job', or a list, such as '- use: small_file_read'");
    } else {
      const Value defaults = known_defaults(root.find("defaults"));
      add_points(*workloads, &defaults, options_);
    }
    ask_needs(root.find("needs"), plan_, problems_);
    if (options_.rehearse && problems_.empty()) judge_rehearsal(plan_);
    check_room_for_own();
    select_points();
    problems_.throw_if_any();
    if (of_job) {
      leave_unmeasured(plan_);
      share_making();
    }
    finish();
    return std::move(plan_);
  }

 private:
  /// The configuration; without one, the shortest for "as the job does".
  Value read_config() {
    if (!options_.config_file.empty()) {
      Value root = config::load_layers(options_.config_file, options_.overrides, problems_);
      // Nothing more can be checked of an unreadable file.
      if (root.entries.empty()) problems_.throw_if_any();
      return root;
    }
    Value root =
        config::parse_yaml(fmt::format("schema: 1\ntarget: {{max_write: {}}}\nworkloads: {}\n", kMaxWrite, kOfJob),
                           options_.job_file, problems_);
    for (const std::string& assignment : options_.overrides) config::apply_override(root, assignment, problems_);
    return root;
  }

  void add_points(const Value& entries, const Value* defaults, PlanOptions options) {
    options.target_path = plan_.target_path;
    std::optional<JobNeeds> needed;
    if (plan_.job) needed.emplace(*plan_.job);
    for (const Value& entry : entries.items) {
      for (Point& point : make_points(entry, defaults, needed ? &*needed : nullptr, options, problems_))
        add(std::move(point));
    }
  }

  /// Points like the job, with the present means.
  void follow_job(const Value& where) {
    if (!plan_.job) {
      problems_.error(where.where, "workloads: job: there is no job; give one with --job FILE");
      return;
    }
    if (options_.config_file.empty()) plan_.name = plan_.job->name.substr(0, kLongestName);
    Node node("");
    Means means;
    means.budget_s = options_.budget_s.value_or(kBudget_s);
    means.data = data_path(options_.data.empty() ? plan_.job->dataset.path : options_.data);
    if (!means.data.empty() && !is_object_path(means.data))
      means.data = std::filesystem::absolute(means.data).lexically_normal().string();
    std::vector<std::string> of_data;
    if (!means.data.empty()) of_data = check_own_data(*plan_.job, means.data);
    const std::string data = means.data;
    if (!data.empty()) plan_.job->dataset.path = data;  // requirements on the job's data apply to these
    const double free = kUsable * static_cast<double>(node.free_bytes(plan_.target_path));
    means.space = static_cast<std::uint64_t>(
        plan_.max_write > 0 ? std::min(kUsable * static_cast<double>(plan_.max_write), free) : free);
    means.memory = node.memory_available();
    if (is_object_path(plan_.target_path) && plan_.max_write == 0)  // storage there may cost money
      means.space = static_cast<std::uint64_t>(kUsable * kMostOfSeveral);
    if (options_.processes > 1) {
      // Processes of several nodes make the same plan, regardless of each one's free space; check_room reports too
      // little.
      const double most = plan_.max_write > 0 ? static_cast<double>(plan_.max_write) : kMostOfSeveral;
      means.space = static_cast<std::uint64_t>(kUsable * most);
      means.memory = means.space;
    }
    means.rules = options_.rules;
    means.makes_objects = is_object_path(plan_.target_path);
    means.tune = options_.tune;
    means.host_memory = static_cast<double>(node.memory_total());
    if (!means.data.empty() && plan_.job->dataset.read_profile == job::ReadProfile::row_group)
      means.no_tables = node.backends().why_not(Gives::tables);
    means.root = node.is_root();
    means.gpus = std::filesystem::exists("/dev/nvidiactl");
    means.ranks = options_.processes > 1;
    means.processes = options_.processes;
    FromJob made =
        options_.rehearse ? rehearsal_from_job(*plan_.job, std::move(means)) : points_from_job(*plan_.job, means);
    plan_.remarks = std::move(made.remarks);
    no_room_ = std::move(made.no_room);
    plan_.rehearsal = options_.rehearse;
    plan_.rules = options_.rules;
    plan_.rule_checks = std::move(made.rules);
    plan_.budget_s = options_.budget_s.value_or(kBudget_s);
    PlanOptions options = options_;
    options.budget_s.reset();  // it is shared out already
    for (std::size_t i = 0; i < made.workloads.items.size(); ++i) {
      const std::size_t before = plan_.points.size();
      Value one;
      one.kind = Value::Kind::list;
      one.items.push_back(std::move(made.workloads.items[i]));
      add_points(one, nullptr, options);
      for (std::size_t at = before; at < plan_.points.size(); ++at) {
        Point& point = plan_.points[at];
        point.unproven = made.unproven[i];
        if (point.params.contains("path") && !data.empty() && point.params.at("path") == ParamValue(data))
          point.unproven.insert(point.unproven.end(), of_data.begin(), of_data.end());
      }
    }
  }

  /// A verdict without the storage's own reads or saves would be about other needs alone, and could pass.
  void check_room_for_own() {
    if (!options_.only.empty()) return;
    for (const auto& [group, why] : no_room_) {
      const auto asked = [&](const job::Need& need) {
        return need.id.starts_with(group + ".") && need.id != "checkpoint.capacity";  // which is read, not written
      };
      if (std::ranges::any_of(plan_.needs, asked)) problems_.error({plan_.config_file, 0, 0}, "target: " + why);
    }
  }

  /// The time of making data, by the bytes of each set; of points that share one, the first makes it.
  void share_making() {
    std::map<std::string, std::uint64_t> sets;
    for (const Point& point : plan_.points)
      if (const Footprint f = point.workload->footprint(); DataSetSpec::of_id(f.data_id))
        sets[f.data_id] = f.written_bytes;
    double all = 0;
    for (const auto& [id, size] : sets) all += static_cast<double>(size);
    for (Point& point : plan_.points) {
      const Footprint f = point.workload->footprint();
      if (!sets.contains(f.data_id)) continue;
      point.making_s = time_share::kMaking * plan_.budget_s * static_cast<double>(sets[f.data_id]) / all;
      sets[f.data_id] = 0;
    }
  }

  /// How many of the job's files a fifth of target.max_write holds; no more than serve for a measurement.
  std::uint64_t files_that_fit(const Value& root) const {
    constexpr double kMost = 8000, kShare = 5;
    const auto& data = plan_.job->dataset;
    const bool files = data.layout == job::Layout::files;
    const double size = std::max(1.0, data.sample_size * (files ? data.samples_per_file : 1));
    const Value* target = root.find("target");
    const Value* most = target != nullptr && target->is_map() ? target->find("max_write") : nullptr;
    const Parsed given = parse_quantity(most != nullptr ? most->text : "", Dimension::bytes);
    return static_cast<std::uint64_t>(given ? std::clamp(given.value / kShare / size, 1.0, kMost) : kMost);
  }

  void load_job() {
    if (options_.job_file.empty()) {
      for (const std::string& o : options_.job_overrides) {
        problems_.error({"--set", 0, 0}, fmt::format("job.{}: there is no job; give one with --job FILE", o));
      }
      return;
    }
    plan_.job = job::load_job(options_.job_file, options_.job_overrides);
  }

  /// Without keys that are wrong, which are reported once, and not for each point.
  static Value known_defaults(const Value* written) {
    Value known;
    if (written != nullptr && written->is_map()) known = *written;
    std::erase_if(known.entries, [](const Value::Entry& e) {
      return std::find(kDefaultKeys.begin(), kDefaultKeys.end(), e.key) == kDefaultKeys.end();
    });
    return known;
  }

  void read_top(const Value& root) {
    config::ValueReader read(problems_, "");
    read.known_keys(root, config::kConfigurationKeys);
    const Value* schema = root.find("schema");
    if (schema == nullptr || schema->text != "1") {
      problems_.error(schema ? schema->where : root.where, "schema: must be 1 (this version reads schema 1)");
    }
    plan_.name = read.text(root.find("name"), "name");
    if (plan_.name.size() > kLongestName)
      read.refuse(*root.find("name"), "name",
                  fmt::format("{} bytes; at most {}, as it becomes part of the run folder's name", plan_.name.size(),
                              kLongestName));
    if (plan_.name.empty()) plan_.name = std::filesystem::path(plan_.config_file).stem().string();
    plan_.target_path = "headrace-scratch";
    if (const Value* target = root.find("target")) {
      if (!target->is_map()) {
        read.refuse(*target, "target", "must be a map: {path: ./scratch, max_write: 4GiB}");
      } else {
        read.known_keys(*target, {"path", "max_write"});
        if (const Value* path = target->find("path")) {
          const std::string text = read.text(path, "target.path");
          try {
            if (!text.empty()) plan_.target_path = data_path(text);
          } catch (const UsageError& e) {
            read.refuse(*path, "target.path", e.what());
          }
          if (text.empty() && !path->is_list() && !path->is_map())
            read.refuse(*path, "target.path", "must not be empty");
        }
        if (const auto most = read.whole(target->find("max_write"), "target.max_write", Dimension::bytes, 1))
          plan_.max_write = *most;
      }
    }
    if (!options_.target_path.empty()) plan_.target_path = options_.target_path;
    if (options_.max_write) plan_.max_write = *options_.max_write;
    if (!is_object_path(plan_.target_path))
      plan_.target_path = std::filesystem::absolute(plan_.target_path).lexically_normal().string();
    if (const auto seed = read.whole(root.find("seed"), "seed", Dimension::count, 0)) plan_.seed = *seed;
    if (options_.seed) plan_.seed = *options_.seed;
    read.text(root.find("description"), "description");
    if (const Value* defaults = root.find("defaults")) {
      if (!defaults->is_map()) read.refuse(*defaults, "defaults", "must be a map: {duration: 10s, repeat: 5}");
      read.known_keys(*defaults, kDefaultKeys);
    }
  }

  void add(Point point) {
    if (!ids_.insert(point.id).second) {
      problems_.error(point.where, fmt::format("{}: a second point with this name; give one a 'label:'", point.id));
    }
    plan_.points.push_back(std::move(point));
  }

  void select_points() {
    const auto matches = [](const std::vector<std::string>& globs, const Point& point) {
      return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
        return glob_match(glob, point.id) || glob_match(glob, point.info->name);
      });
    };
    std::vector<std::string> ids;
    for (const Point& point : plan_.points) ids.push_back(point.id);
    for (const auto* globs : {&options_.only, &options_.skip}) {
      for (const std::string& glob : *globs) {
        if (std::none_of(plan_.points.begin(), plan_.points.end(),
                         [&](const Point& p) { return matches({glob}, p); })) {
          problems_.error(
              {globs == &options_.only ? "--only" : "--skip", 0, 0},
              fmt::format("'{}' matches no point{} (points: {})", glob, did_you_mean(glob, ids), join(ids)));
        }
      }
    }
    std::erase_if(plan_.points, [&](const Point& p) {
      return (!options_.only.empty() && !matches(options_.only, p)) || matches(options_.skip, p);
    });
    if (plan_.points.empty() && problems_.empty()) {
      problems_.error({options_.config_file, 0, 0},
                      plan_.job ? "nothing to run: no point is left"
                                : "nothing to run: no point is left (what follows a job's needs is "
                                  "left out without one: --job FILE)");
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
      const bool there =
          std::any_of(needs.items.begin(), needs.items.end(), [&](const Value& v) { return v.text == need.id; });
      if (!there) needs.items.push_back(Value::scalar(need.id, {}));
    }
    for (const DeclaredNeed& need : plan_.declared_needs) {
      Value item;
      item.kind = Value::Kind::map;
      item.set("id", Value::scalar(need.id, {}));
      item.set("metric", Value::scalar(need.metric, {}));
      const std::string unit = need.unit == "1/s"                             ? "/s"
                               : need.unit == "ratio" || need.unit == "count" ? ""
                                                                              : need.unit;
      item.set(need.at_least ? "at_least" : "at_most", Value::scalar(fmt::format("{:.15g}{}", need.value, unit), {}));
      if (!need.source.empty()) item.set("source", Value::scalar(need.source, {}));
      if (need.optional) item.set("optional", Value::scalar("true", {}));
      needs.items.push_back(std::move(item));
    }
    for (const Point& point : plan_.points) workloads.items.push_back(point.resolved);
    root.set("needs", std::move(needs));
    root.set("workloads", std::move(workloads));
    plan_.config_hash = fmt::format("{:016x}", fnv1a(config::to_yaml(root)));
    Value target;
    target.kind = Value::Kind::map;
    target.set("path", Value::scalar(plan_.target_path, {}));
    if (plan_.max_write > 0) target.set("max_write", Value::scalar(fmt::format("{}B", plan_.max_write), {}));
    root.set("target", std::move(target));
  }

  const PlanOptions& options_;
  Diagnostics problems_;
  std::set<std::string> ids_;
  std::map<std::string, std::string> no_room_;  // FromJob::no_room
  Plan plan_;
};

}  // namespace

Plan make_plan(const PlanOptions& options) { return Planner(options).make(); }

Plan make_plan(const Value& configuration, const PlanOptions& options) { return Planner(options).make(configuration); }

}  // namespace headrace
