// headrace measure: one workload with parameters from the command line, and its points in one table.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "benches/headrace/console.h"
#include "benches/headrace/live_table.h"
#include "benches/headrace/near_data.h"
#include "benches/headrace/other_tools.h"
#include "benches/headrace/plan_options.h"
#include "benches/headrace/progress.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/scan.h"
#include "benches/headrace/session/measure.h"
#include "benches/headrace/session/run_folder.h"
#include "benches/headrace/summary.h"
#include "benches/headrace/terminal_audience.h"
#include "harness/base/data_path.h"
#include "harness/base/escape.h"
#include "harness/base/files/output.h"
#include "harness/base/object_path.h"
#include "harness/base/units.h"
#include "harness/engine/plan/plan.h"
#include "harness/engine/plan/room.h"
#include "harness/workload/workload.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;
using config::Value;

struct MeasureArguments {
  std::string workload, path, at, max_write = "4GiB", metric, out, peer, token;
  std::string markdown, csv, json, live;
  std::optional<std::uint64_t> seed;
  std::size_t max_points = 200;
  std::string budget;
  bool print_config = false, dry_run = false, no_store = false, no_report = false;
  bool in_data = false;  // the default run folder would lie in the data, which are only read: nothing is stored
  std::map<std::string, std::string> params;  // by name, "" = not given
};

/// The parameters that every workload understands in addition to its own.
const std::vector<std::pair<std::string, std::string>> kCommon = {
    {"cache", "Page-cache state, such as cold or warm"},
    {"repeat", "Repetitions of each point"},
    {"duration", "Longest time of one repetition, such as 10s"},
    {"rest", "Pause between repetitions"},
    {"timeout", "I/O timeout, after which storage is reported as hung"}};

std::string option_of(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::vector<ParamInfo> params_of(const WorkloadInfo& info) {
  Value nothing;
  nothing.kind = Value::Kind::map;
  Diagnostics ignored;
  Params params(std::string(info.name), nothing, ignored);
  info.make(params);
  return params.declared();
}

Value map_of(std::vector<Value::Entry> entries) {
  Value map;
  map.kind = Value::Kind::map;
  map.entries = std::move(entries);
  return map;
}

Value::Entry entry(const std::string& key, Value value) {
  Location where = value.where;
  return {key, std::move(where), std::move(value)};
}

/// The items of a sweep: "1,2,4" or "[1, 2, 4]"; anything else is one value.
Value value_of(const std::string& text, const Location& where) {
  std::string_view all = text;
  if (all.starts_with('[') && all.ends_with(']')) all = all.substr(1, all.size() - 2);
  if (all.find(',') == all.npos) return Value::scalar(std::string(all), where);
  Value list;
  list.kind = Value::Kind::list;
  list.where = where;
  while (true) {
    const std::size_t comma = all.find(',');
    std::string_view one = all.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    list.items.push_back(Value::scalar(std::string(one), where));
    if (comma == all.npos) return list;
    all.remove_prefix(comma + 1);
  }
}

const WorkloadInfo& workload_of(const std::string& name) {
  const Registry& registry = Registry::instance();
  if (const WorkloadInfo* info = registry.find(name)) return *info;
  if (const std::string ours = workload_of_other_tools(name); !ours.empty())
    throw UsageError(fmt::format("measure: no workload '{}'{} (headrace list has all)", name, ours));
  throw UsageError(
      fmt::format("measure: '{}' is no workload, file or folder{} (small files: small_file_read; sequential: "
                  "shard_stream; random: random_read; writes: checkpoint_write; headrace list has all)",
                  name, did_you_mean(name, registry.names())));
}

/// A workload may write: it is not measured where a folder of its name may be meant.
void refuse_ambiguous(const MeasureArguments& arguments) {
  std::error_code ignored;
  const fs::file_status there = fs::status(arguments.workload, ignored);
  if (!fs::exists(there) || !arguments.path.empty() || !arguments.at.empty()) return;
  throw UsageError(
      fmt::format("measure: '{0}' is a workload and a {1} here: write ./{0} for the {1}, or --at DIR for the workload",
                  arguments.workload, fs::is_directory(there) ? "folder" : "file"));
}

/// `measure PATH`: the workload that reads such data, from storage as the first epoch of a job does.
void choose_workload(MeasureArguments& arguments, const Shared& shared) {
  if (Registry::instance().find(arguments.workload) != nullptr) return refuse_ambiguous(arguments);
  const std::string path = data_path(arguments.workload);
  if (!is_object_path(path) && !is_data_at(path)) return;
  if (!arguments.path.empty())
    throw UsageError(fmt::format("measure: a workload or one path: '{}' and '{}'", arguments.workload, arguments.path));
  const NearData& data = data_at(path);
  arguments.path = arguments.workload;
  arguments.workload = data.workload;
  const auto unless_given = [&](const std::string& name, const std::string& value) {
    if (std::string& param = arguments.params[name]; param.empty()) param = value;
  };
  for (const auto& [name, value] : data.params) unless_given(name, value);
  unless_given("cache", "cold");
  std::string command = fmt::format("headrace measure {} {}", data.workload, shell_word(arguments.path));
  for (const auto& [name, value] : arguments.params)
    if (!value.empty()) command += fmt::format(" {} {}", option_of(name), shell_word(value));
  if (shared.verbosity >= 0) print_stderr_line(Text::format("{}: {}. Runs {}", arguments.path, data.reads, command));
}

/// Parameters of other workloads are refused by the option that gave them.
void require_known(const MeasureArguments& arguments, const std::vector<ParamInfo>& params) {
  std::vector<std::string> known;
  for (const ParamInfo& param : params)
    if (param.name != "path") known.push_back(option_of(param.name));
  for (const auto& [name, help] : kCommon) known.push_back(option_of(name));
  for (const auto& [name, value] : arguments.params) {
    const std::string option = option_of(name);
    if (value.empty() || std::find(known.begin(), known.end(), option) != known.end()) continue;
    std::string hint = option_of_other_tools(option);
    if (hint.empty()) hint = did_you_mean(option, known);
    throw UsageError(
        fmt::format("measure: {} has no {}{} ({})", arguments.workload, option, hint,
                    hint.empty() ? "it has: " + join(known) : "headrace list " + arguments.workload + " has all"));
  }
}

constexpr double kBudget_s = 15;

/// Does the user give the number or the length?
bool says_how_long(const MeasureArguments& arguments) {
  const auto given = [&](const char* name) {
    const auto found = arguments.params.find(name);
    return found != arguments.params.end() && !found->second.empty();
  };
  return given("repeat") || given("duration");
}

/// The configuration that asks for the same. `points`: that share the budget; 0: none is kept.
Value configuration(const MeasureArguments& arguments, std::size_t points) {
  const WorkloadInfo& info = workload_of(arguments.workload);
  const std::vector<ParamInfo> params = params_of(info);
  require_known(arguments, params);
  std::vector<Value::Entry> workload{entry("use", Value::scalar(arguments.workload, {"WORKLOAD", 0, 0}))};
  if (!arguments.path.empty()) {
    if (std::none_of(params.begin(), params.end(), [](const ParamInfo& p) { return p.name == "path"; }))
      throw UsageError(
          fmt::format("measure: {} reads no existing data: leave {} out; --at DIR is the folder for its own data",
                      info.name, arguments.path));
    const std::string path = data_path(arguments.path);
    const bool objects = is_object_path(path);
    if (!objects && !is_data_at(path)) {
      const bool flag = path == "0" || path == "1" || path == "true" || path == "false";
      throw UsageError(fmt::format("measure: {}: no such file or folder{}", path,
                                   flag ? "; flags such as --direct take no value" : ""));
    }
    workload.push_back(
        entry("path", Value::scalar(objects ? path : fs::absolute(path).lexically_normal().string(), {"PATH", 0, 0})));
  }
  for (const auto& [name, text] : arguments.params) {
    if (text.empty()) continue;
    const auto declared =
        std::find_if(params.begin(), params.end(),
                     [wanted = std::string_view(name)](const ParamInfo& p) { return p.name == wanted; });
    const Location where{option_of(name), 0, 0};
    const bool whole = declared != params.end() && (declared->type == "text" || declared->type == "path");
    workload.push_back(entry(name, whole ? Value::scalar(text, where) : value_of(text, where)));
  }
  if (points > 0) {
    // Five repetitions and more, as far as the time goes.
    constexpr double kTimes = 5, kLeast_s = 0.2;
    const double each_s = (arguments.budget.empty() ? kBudget_s : time_option("--budget", arguments.budget, "15s")) /
                          static_cast<double>(points);
    const auto seconds = [](double value) { return Value::scalar(exact_quantity(value, Dimension::seconds), {}); };
    workload.push_back(entry("duration", seconds(std::max(kLeast_s, each_s / kTimes))));
    workload.push_back(
        entry("repeat", map_of({entry("looks", value_of("5,10,15", {})), entry("budget", seconds(each_s))})));
  }
  Value workloads;
  workloads.kind = Value::Kind::list;
  workloads.items.push_back(map_of(std::move(workload)));
  std::vector<Value::Entry> root{entry("schema", Value::scalar("1", {})),
                                 entry("name", Value::scalar("measure-" + arguments.workload, {}))};
  if (arguments.seed) root.push_back(entry("seed", Value::scalar(std::to_string(*arguments.seed), {"--seed", 0, 0})));
  const std::string at =
      is_object_path(arguments.at) ? arguments.at : fs::absolute(arguments.at).lexically_normal().string();
  root.push_back(
      entry("target", map_of({entry("path", Value::scalar(at, {"--at", 0, 0})),
                              entry("max_write", Value::scalar(arguments.max_write, {"--max-write", 0, 0}))})));
  root.push_back(entry("workloads", std::move(workloads)));
  return map_of(std::move(root));
}

/// Each note of the points once, and the files of the user that they left out.
void print_remarks(const RunResult& run, const Terminal& terminal) {
  std::set<std::string> once;
  for (const PointResult& point : run.points) {
    for (const std::string& note : point.notes) once.insert("note: " + note);
    for (const auto& [why, count] : point.left_out) once.insert(left_out_line(why, count).str());
  }
  for (const std::string& line : once) print_line(terminal.paint(in_lines(Text(line), terminal, 2), Ink::faint));
}

/// A workload without any value has no figure, though nothing failed.
int exit_code_of(const RunResult& run, const Scan& scan) {
  const bool figure = std::ranges::any_of(scan.rows, [](const ScanRow& row) { return row.missing.empty(); });
  return run.summary.exit_code == 0 && !figure ? exit_code(Outcome::incomplete) : run.summary.exit_code;
}

/// The table, and where the files are.
class Shown final : public TerminalAudience {
 public:
  Shown(const MeasureArguments& arguments, const Shared& shared) : arguments_(arguments), shared_(shared) {}

  std::unique_ptr<RunObserver> watch(const Plan& plan) override {
    return with_live_table(make_progress(shared_, plan), arguments_.live);
  }

  int finished(const RunResult& run, const MarkedFolder* folder, std::vector<std::string> files) override {
    const Scan scan = scan_of(run, arguments_.metric);
    const Terminal terminal(stdout, shared_);
    print(answer_text(scan_answer(scan), terminal) + scan_text(scan, terminal));
    print_remarks(run, terminal);
    for (const PointResult& point : run.points)
      for (const WrongBlock& wrong : point.wrong_blocks)
        print_line(Text::format("wrong data: {} at {}: {}", wrong.file, wrong.offset, wrong.why));
    if (!arguments_.markdown.empty()) files::write_output(arguments_.markdown, scan_markdown(scan));
    if (!arguments_.csv.empty()) files::write_output(arguments_.csv, scan_csv(scan));
    if (!arguments_.json.empty()) files::write_output(arguments_.json, scan_json(scan));
    if (arguments_.in_data && shared_.verbosity >= 0)
      print_line("Not stored: the current folder is inside the data set; --out DIR stores the run.");
    if (folder == nullptr) return exit_code_of(run, scan);
    if (!arguments_.no_report) {
      const Drawn drawn = draw_into(*folder, "run.json");
      if (drawn.page.empty())
        print_stderr_line(Text::format("report: not drawn: {}", drawn.reason));
      else
        files.insert(files.begin(), "report.html");
    }
    if (shared_.verbosity >= 0)
      print_line("files   " + wrap(Text::format("{}: {}", folder->path(), join(files)), 90, 8));
    return exit_code_of(run, scan);
  }

 private:
  const MeasureArguments& arguments_;
  const Shared& shared_;
};

bool starts_in_data(const MeasureArguments& arguments) {
  const std::string path = arguments.path.empty() ? "" : data_path(arguments.path);
  if (path.empty() || is_object_path(path)) return false;
  return std::ranges::any_of(places_of_data(path),
                             [runs = place_of(session::kRuns)](const fs::path& data) { return lies_in(runs, data); });
}

int measure(MeasureArguments arguments, const Shared& shared) {
  choose_workload(arguments, shared);
  files::check_output(arguments.markdown, arguments.path, "|:---|");
  files::check_output(arguments.csv, arguments.path, "workload,point,metric,unit,");
  files::check_output(arguments.json, arguments.path, "\"workload\": ");
  if (arguments.at.empty()) arguments.at = "headrace-scratch";
  if (arguments.no_store && !arguments.out.empty()) throw UsageError("--out and --no-store do not go together");
  if (says_how_long(arguments) && !arguments.budget.empty())
    throw UsageError("measure: --budget does not go with --repeat and --duration: it sets both");
  PlanOptions options;
  options.max_points = arguments.max_points;
  Value asked = configuration(arguments, 0);
  if (!says_how_long(arguments)) asked = configuration(arguments, make_plan(asked, options).points.size());
  arguments.in_data = !arguments.no_store && arguments.out.empty() && starts_in_data(arguments);
  const bool store = !arguments.no_store && !arguments.in_data;
  const auto plan = [&] {
    Plan made = make_plan(asked, options);
    check_room(made, !store ? "" : arguments.out.empty() ? session::kRuns : arguments.out);
    require_metric(*made.points.front().info, arguments.metric, *made.points.front().workload);
    check_live_table(arguments.live, made);
    return made;
  };
  if (arguments.print_config) {
    plan();  // its errors are reported instead
    print_document(config::to_yaml(asked));
    return 0;
  }
  if (arguments.dry_run) {
    print_line(plan_text(plan(), shared));
    return 0;
  }
  Shown audience(arguments, shared);
  return session::measure(plan,
                          {.out = arguments.out,
                           .store = store,
                           .peer = arguments.peer,
                           .token = arguments.token,
                           .command = shared.command},
                          audience);
}

/// An option for every parameter that a workload has. Their list would hide the other options: `headrace list WORKLOAD`
/// reports them.
void add_params(Verb& verb, std::map<std::string, std::string>& into) {
  std::map<std::string, ParamInfo> all;
  for (const WorkloadInfo& info : Registry::instance().all())
    for (const ParamInfo& param : params_of(info)) all.try_emplace(param.name, param);
  for (const auto& [name, param] : all) {
    if (name == "path") continue;  // PATH
    const bool two = name.find('_') != name.npos;
    const std::string names = option_of(name) + (two ? ",--" + name : "");
    if (param.type == "flag")
      verb.flag(names, into[name], param.help);
    else
      verb.option(names + " VALUES", into[name], param.help);
  }
}

void add_measure(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("measure", "Measure one workload, without a configuration");
  auto a = std::make_shared<MeasureArguments>();
  verb.option("WORKLOAD", a->workload,
              "What to measure (headrace list), or your data: then headrace picks the workload. Its parameters are "
              "options, as in --block-size 1MiB; several values make points: 1,2,8 or 1..64*2")
      .required()
      .suggests(Registry::instance().names());
  verb.option("PATH", a->path, "Existing data, only read; default: data made below --at");
  const auto common = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      verb.option(option_of(kCommon[i].first) + " VALUES", a->params[kCommon[i].first], kCommon[i].second);
  };
  common(0, 3);
  verb.option("--metric NAME", a->metric, "What the table compares; default: the workload's first metric");
  verb.option("--budget TIME", a->budget,
              "Time to measure in, all points together, without making data; default 15s, where neither --repeat nor "
              "--duration is given");
  verb.option("--at DIR", a->at,
              "Scratch folder, or s3://bucket/prefix; its data is kept (headrace clean DIR removes it); default "
              "headrace-scratch");
  verb.option("--max-write SIZE", a->max_write, "Most bytes that may be written there").shows_default();
  verb.group("Output");
  verb.option("--export-markdown FILE", a->markdown, "Write the table as Markdown");
  verb.option("--export-csv FILE", a->csv, "Write it as CSV, in SI units");
  verb.option("--export-json FILE", a->json, "Write it as JSON, with the value of each repetition");
  verb.option("--live FILE", a->live, "Append the rates to this CSV file while it measures");
  verb.flag("--print-config", a->print_config, "Print the configuration that asks for the same, and run nothing");
  verb.flag("--dry-run", a->dry_run, "Show the plan; run nothing");
  verb.option("--out DIR", a->out, "Run folder; default headrace-runs/TIME-measure-WORKLOAD");
  verb.flag("--no-store", a->no_store, "Write no run folder");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.group("Parameters of workloads, and details", true);
  verb.option("--seed N", a->seed, "Seed of every random order and of generated data");
  verb.option("--peer HOST", a->peer,
              "Host with `headrace run --serve`, the remote end of network workloads: HOST, HOST:PORT");
  verb.option("--token", a->token, "The token of that `headrace run --serve`").or_environment("HEADRACE_TOKEN");
  verb.option("--max-points N", a->max_points, "Most points that the values may make").shows_default();
  common(3, kCommon.size());
  add_params(verb, a->params);
  verb.example("headrace measure images", "How fast can the files of this folder be read?");
  verb.example("headrace measure small_file_read --workers 1..8*2 --cache cold",
               "How the rate of small files grows with readers, each read from storage");
  verb.does([&shared, a] { return measure(*a, shared); });
}

const RegisterVerb registered_measure{65, add_measure};

}  // namespace
}  // namespace headrace::cli
