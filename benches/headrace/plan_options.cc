// Options that choose what to run, and the plan in words.
#include "benches/headrace/plan_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "benches/headrace/table.h"
#include "benches/headrace/terminal.h"
#include "harness/backends/loader.h"
#include "harness/base/config/document.h"
#include "harness/base/data_path.h"
#include "harness/base/object_path.h"
#include "harness/base/system/installation.h"
#include "harness/base/units.h"
#include "harness/engine/launch.h"
#include "harness/engine/plan/room.h"
#include "harness/engine/point_order.h"
#include "harness/job/job_keys.h"
#include "harness/machine/lost_gpus.h"
#include "harness/machine/node.h"
#include "harness/workload/workload.h"

namespace headrace::cli {
namespace {

std::vector<unsigned> parse_looks(const std::string& text) {
  std::vector<unsigned> looks;
  std::size_t at = 0;
  while (at <= text.size() && !text.empty()) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    unsigned n = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, n);
    if (error != std::errc() || end != text.data() + comma || n == 0 || (!looks.empty() && n <= looks.back())) {
      throw UsageError(fmt::format("--looks: '{}' must be growing counts, such as 5,10,15", text));
    }
    looks.push_back(n);
    at = comma + 1;
  }
  return looks;
}

/// Where a key of the configuration is due.
void refuse_job_key(const std::string& key) {
  for (const job::JobSection& section : job::job_sections())
    if (key.substr(0, key.find('.')) == section.name)
      throw UsageError(fmt::format("--set: unknown key '{0}'; did you mean job.{0}?", key));
}

constexpr double kMostWritten = 0x1p53;

enum class FileKind { job, configuration, neither };

/// By content: a job names itself, a configuration has workloads. A file that cannot be read is left to its reader,
/// which reports why.
FileKind kind_of(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return FileKind::neither;  // a pipe can be read once only
  Diagnostics unread;
  const config::Value root = config::read_yaml(path, unread);
  if (root.find("job") != nullptr) return FileKind::job;
  return root.find("workloads") != nullptr || root.find("extends") != nullptr ? FileKind::configuration
                                                                              : FileKind::neither;
}

/// A file where a job or a configuration is due.
std::string existing_file(const std::string& given) {
  std::string path = system::find_shipped(given);
  if (std::filesystem::is_directory(path))
    throw UsageError(fmt::format("{}: is a folder; a job or a configuration is one file", given));
  return path;
}

/// Which of the given files is the job, and which the configuration. Throws UsageError in one sentence.
void choose_files(const PlanArguments& arguments, PlanOptions& options) {
  if (!arguments.config.empty()) options.config_file = existing_file(arguments.config);
  if (!arguments.job.empty()) options.job_file = existing_file(arguments.job);
  if (!options.config_file.empty() && kind_of(options.config_file) == FileKind::job)
    throw UsageError(
        fmt::format("-c {0}: this is a job, no configuration: give it as --job {0}, or alone", arguments.config));
  if (!options.job_file.empty() && kind_of(options.job_file) == FileKind::configuration)
    throw UsageError(fmt::format("--job {0}: this is a configuration, no job: give it as -c {0}", arguments.job));
  if (!arguments.file.empty()) {
    const std::string path = existing_file(arguments.file);
    const bool job = kind_of(path) == FileKind::job;
    std::string& slot = job ? options.job_file : options.config_file;
    if (!slot.empty())
      throw UsageError(fmt::format("{}: a second {}, after {}", arguments.file, job ? "job" : "configuration", slot));
    slot = path;
  }
  if (options.config_file.empty() && options.job_file.empty())
    throw UsageError(
        "no job and no configuration is given: name a job, such as configs/jobs/resnet50-imagenet.yaml, or a "
        "configuration");
}

/// Parts that are left out or smaller than the job's, each reported once.
std::vector<std::string> not_as_the_job(const Plan& plan) {
  std::vector<std::string> all = plan.remarks;
  for (const Point& point : plan.points)
    for (const std::string& open : point.unproven)
      if (std::find(all.begin(), all.end(), open) == all.end()) all.push_back(open);
  return all;
}

/// The time of the points that report it, with the fewest and the most repetitions.
struct PlannedTime {
  std::size_t points = 0;
  double first_s = 0, most_s = 0;
  std::string reckoned_with;  // "" = any machine
};
PlannedTime planned_time(const Plan& plan) {
  PlannedTime time;
  for (const Point& point : plan.points) {
    const Footprint footprint = point.workload->footprint();
    if (footprint.repetition_s <= 0) continue;
    ++time.points;
    if (!footprint.reckoned_with.empty()) time.reckoned_with = footprint.reckoned_with;
    const double each = footprint.repetition_s + point.rest_s;
    time.first_s += footprint.around_s + point.repeat.looks.front() * each;
    // No repetition begins once the point's budget is used up.
    time.most_s += footprint.around_s + std::min(point.repeat.looks.back() * each, point.repeat.budget_s + each);
  }
  return time;
}

std::string bytes_or_unknown(std::uint64_t bytes) {
  return bytes > 0 ? format_quantity(static_cast<double>(bytes), Dimension::bytes) : "-";
}

}  // namespace

void add_plan_options(Verb& verb, PlanArguments& arguments) {
  verb.option("FILE", arguments.file, "A job (configs/jobs/*.yaml), or a configuration");
  verb.group("Where");
  verb.option("--at DIR", arguments.at, "Scratch folder on the storage to be judged (target.path)");
  verb.option("--data PATH", arguments.data, "Existing data, only read: a path or s3://bucket/prefix");
  verb.option("--max-write SIZE", arguments.max_write, "Most bytes to write, such as 4GiB (target.max_write)");
  verb.group("What");
  verb.option("-c,--config FILE", arguments.config, "Configuration (configs/*.yaml); default: from the job");
  verb.option("--job JOB", arguments.job, "Job description (configs/jobs/*.yaml)");
  verb.option("--set KEY=VALUE", arguments.set, "Set a key of the configuration, or job.KEY (repeatable)")
      .one_value_each();
  verb.option("--only GLOB", arguments.only, "Only points or workloads that match (also A,B)")
      .separated_by(',')
      .one_value_each();
  verb.option("--skip GLOB", arguments.skip, "Leave out points or workloads that match")
      .separated_by(',')
      .one_value_each();
  verb.option("--budget TIME", arguments.budget, "Longest time of a job (5min), or of each point (20min)");
  verb.group("Details of the tests", true);
  verb.option("--looks COUNTS", arguments.looks, "When to look, in repetitions: 5,10,15 (the default)");
  verb.option("--seed", arguments.seed, "Seed of every random order and of generated data");
  verb.option("--max-points", arguments.max_points, "Most points that a sweep may make").shows_default();
}

std::vector<std::string> plan_words(const PlanArguments& arguments) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  if (!arguments.file.empty()) words.push_back(arguments.file);
  add("--at", arguments.at);
  add("--data", arguments.data);
  add("--max-write", arguments.max_write);
  add("--config", arguments.config);
  add("--job", arguments.job);
  for (const std::string& assignment : arguments.set) add("--set", assignment);
  for (const std::string& glob : arguments.only) add("--only", glob);
  for (const std::string& glob : arguments.skip) add("--skip", glob);
  add("--looks", arguments.looks);
  add("--budget", arguments.budget);
  if (arguments.seed) add("--seed", std::to_string(*arguments.seed));
  add("--max-points", std::to_string(arguments.max_points));
  return words;
}

bool is_configuration(const std::string& file) {
  return kind_of(system::find_shipped(file)) == FileKind::configuration;
}

PlanOptions plan_options(const PlanArguments& arguments) {
  PlanOptions options;
  choose_files(arguments, options);
  for (const std::string& assignment : arguments.set) {
    if (assignment.find('=') == std::string::npos) {
      throw UsageError(fmt::format("--set: '{}' must be KEY=VALUE", assignment));
    }
    if (assignment.rfind("job.", 0) == 0) {
      options.job_overrides.push_back(assignment.substr(4));
    } else {
      refuse_job_key(assignment.substr(0, assignment.find('=')));
      options.overrides.push_back(assignment);
    }
  }
  options.only = arguments.only;
  options.skip = arguments.skip;
  options.looks = parse_looks(arguments.looks);
  if (!arguments.budget.empty()) {
    const std::string text = arguments.budget.back() == 'm' ? arguments.budget + "in" : arguments.budget;
    options.budget_s = time_option("--budget", text, "20min");
  }
  options.target_path = arguments.at;
  options.data = arguments.data;
  if (!options.data.empty() && !is_object_path(options.data) && !is_data_at(options.data))
    throw UsageError(fmt::format("--data: nothing is at {}{}", options.data,
                                 is_pattern(options.data) ? " (braces and wildcards are expanded)" : ""));
  if (!arguments.max_write.empty()) {
    const Parsed most = parse_quantity(arguments.max_write, Dimension::bytes);
    if (!most) throw UsageError(fmt::format("--max-write: '{}' {}", arguments.max_write, most.error));
    if (most.value < 1 || most.value > kMostWritten)
      throw UsageError(fmt::format("--max-write: '{}' is out of range: 1B or more, such as 4GiB", arguments.max_write));
    options.max_write = static_cast<std::uint64_t>(most.value);
  }
  options.processes = ranks::launched().size;
  options.seed = arguments.seed;
  options.max_points = arguments.max_points;
  return options;
}

Text plan_text(const Plan& plan, const Shared& shared) {
  const Terminal terminal(stdout, shared);
  const std::size_t width = std::min<std::size_t>(static_cast<std::size_t>(terminal.width()), 100);
  Text out;
  unsigned first = 0, most = 0;
  std::size_t settings = 0;  // that --tune may try
  for (const Point& point : plan.points) {
    if (engine::is_tried_on_demand(point)) {
      ++settings;
      continue;
    }
    first += point.repeat.looks.front();
    most += point.repeat.looks.back();
  }
  const std::uint64_t writes = bytes_to_write(plan);
  const PlannedTime time = planned_time(plan);
  Node node(plan.target_path);
  out += Text::format("plan      {} need{}, {} point{}, {} repetitions ({} at most)\n",
                      plan.needs.size() + plan.declared_needs.size(),
                      plan.needs.size() + plan.declared_needs.size() == 1 ? "" : "s", plan.points.size() - settings,
                      plan.points.size() - settings == 1 ? "" : "s", first, most);
  if (settings > 0)
    out +=
        wrap(Text::format("tune      tries the most useful of {} settings of the loader", settings), width, 10) + "\n";
  if (plan.job) {
    const std::string& about = plan.job->description;
    out += "job       " + wrap(plan.job->name + (about.empty() ? "" : ": " + about), width - 10, 10) + "\n";
  }
  const Text room =
      node.makes_objects()
          ? Text("object store")
          : Text::format("free {}",
                         format_quantity(static_cast<double>(node.free_bytes(plan.target_path)), Dimension::bytes));
  out += wrap(Text::format("target    {} ({}); writes at most {} of new data, below this {} only", plan.target_path,
                           room, bytes_or_unknown(writes), node.makes_objects() ? "prefix" : "folder"),
              width, 10) +
         "\n";
  if (time.points > 0)
    out += wrap(Text::format(
                    "time      {} to {}{}, {}", format_duration(time.first_s), format_duration(time.most_s),
                    time.points == plan.points.size()
                        ? Text()
                        : Text::format(" for the {} points that have a known time", time.points),
                    time.reckoned_with.empty() ? "however many ranks take part" : "as with " + time.reckoned_with),
                width, 10) +
           "\n";
  if (const std::string why = node.backends().why_not(Gives::gpus); !why.empty()) {
    const auto skipped = std::count_if(plan.points.begin(), plan.points.end(), [&](const Point& point) {
      const auto skip = point.workload->check(node);
      return skip && skip->reason.find(why) != std::string::npos;
    });
    if (skipped > 0)
      out +=
          wrap(Text::format("GPUs      {} points are skipped: {}", skipped, system::without_gpus()), width, 10) + "\n";
  }
  Table points({{"point", false}, {"cache", false}, {"reps", true}, {"read/rep", true}, {"writes", true}});
  for (const Point& point : plan.points) {
    if (engine::is_tried_on_demand(point)) continue;
    const Footprint footprint = point.workload->footprint();
    const bool caches = !as<ReadsFiles>(*point.workload).cache_states().empty();
    points.row({point.id, caches ? to_string(point.cache) : "-",
                point.repeat.looks.size() > 1
                    ? Text::format("{}..{}", point.repeat.looks.front(), point.repeat.looks.back())
                    : Text::format("{}", point.repeat.looks.front()),
                bytes_or_unknown(footprint.read_bytes_per_repetition), bytes_or_unknown(footprint.written_bytes)});
  }
  out += "\n" + points.text(terminal);
  if (!plan.needs.empty() || !plan.declared_needs.empty()) {
    const std::size_t names = width < 72 ? 22 : 30;  // columns of a need's name
    out += terminal.paint("\nneeds that will be judged\n", Ink::strong);
    for (const auto& need : plan.needs) {
      const Dimension d = need.unit == "B/s"   ? Dimension::bytes_per_second
                          : need.unit == "1/s" ? Dimension::per_second
                          : need.unit == "B"   ? Dimension::bytes
                                               : Dimension::count;
      out += Text::format("  {} ({})  at least {}\n", pad(need.id, names), job::to_string(need.scope),
                          format_quantity(need.need, d));
    }
    for (const DeclaredNeed& need : plan.declared_needs) {
      out += "  " +
             wrap(Text::format("{} ({})  {} {:g} {}", pad(need.id, names), need.metric,
                               need.at_least ? "at least" : "at most", need.value, need.unit),
                  width - 4, 4) +
             "\n";
    }
  }
  if (const auto remarks = not_as_the_job(plan); !remarks.empty()) {
    out += terminal.paint("\nDifferences from the job\n", Ink::strong);
    for (const std::string& remark : remarks) out += "  " + wrap(Text(remark), 94, 4) + "\n";
  }
  if (!plan.not_asked.empty()) {
    out += wrap(Text::format("not asked here: {}", join(plan.not_asked)), width - 2, 2) + "\n";
  }
  return out;
}

std::string plan_json(const Plan& plan) {
  using nlohmann::json;
  json points = json::array();
  for (const Point& point : plan.points) {
    const Footprint footprint = point.workload->footprint();
    json params = json::object();
    for (const auto& [key, value] : point.params)
      std::visit([&, name = key](const auto& v) { params[name] = v; }, value);
    points.push_back({{"id", point.id},
                      {"workload", point.info->name},
                      {"params", params},
                      {"cache", to_string(point.cache)},
                      {"looks", point.repeat.looks},
                      {"read_bytes_per_repetition", footprint.read_bytes_per_repetition},
                      {"written_bytes", footprint.written_bytes}});
    points.back()["budget_s"] = point.repeat.budget_s;
    if (footprint.repetition_s <= 0) continue;
    points.back()["repetition_s"] = footprint.repetition_s;
    points.back()["around_s"] = footprint.around_s;
  }
  json needs = json::array();
  for (const auto& need : plan.needs) {
    needs.push_back({{"id", need.id}, {"scope", job::to_string(need.scope)}, {"need", need.need}, {"unit", need.unit}});
  }
  for (const DeclaredNeed& need : plan.declared_needs) {
    needs.push_back({{"id", need.id},
                     {"metric", need.metric},
                     {"need", need.value},
                     {"unit", need.unit},
                     {"direction", need.at_least ? "at_least" : "at_most"}});
  }
  const json all = {{"schema", 1},
                    {"name", plan.name},
                    {"config_hash", plan.config_hash},
                    {"target", plan.target_path},
                    {"written_bytes", bytes_to_write(plan)},
                    {"points", points},
                    {"needs", needs},
                    {"not_asked", plan.not_asked},
                    {"remarks", not_as_the_job(plan)}};
  return all.dump(2);
}

}  // namespace headrace::cli
