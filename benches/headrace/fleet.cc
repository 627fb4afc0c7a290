// headrace fleet: many nodes' runs compared with each other.
#include "harness/analysis/fleet/fleet.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "benches/headrace/console.h"
#include "benches/headrace/findings.h"
#include "benches/headrace/fleet_text.h"
#include "benches/headrace/run_folders.h"
#include "benches/headrace/shares.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/parallel.h"
#include "harness/base/printable.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

struct FleetArguments {
  std::vector<std::string> folders, metrics;
  std::string hosts, out, format = "text", delta, delta_tail, rerun;
  bool no_report = false;
};

/// The folder that a run file stands in: what people call the node by when the file reports nothing.
std::string folder_name(const std::string& file) { return fs::path(file).parent_path().filename().string(); }

void collect_all(const std::vector<std::string>& files, fleet::Collector& collector,
                 std::vector<fleet::Unreadable>& unreadable) {
  std::vector<std::string> problems(files.size());
  parallel_for(files.size(), std::thread::hardware_concurrency(), [&](unsigned, std::uint64_t i) {
    try {
      fleet::collect(files[i], collector);
    } catch (const UsageError& e) {
      problems[i] = e.what();
    }
  });
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!problems[i].empty()) unreadable.push_back({files[i], folder_name(files[i]), problems[i]});
}

std::string filled(std::string command, const std::string& key, const std::string& value) {
  for (std::size_t at = 0; (at = command.find(key, at)) != command.npos; at += value.size())
    command.replace(at, key.size(), value);
  return command;
}

/// Has the user's command measure every suspect again; whether anything new can be read.
bool rerun(const FleetArguments& arguments, const fleet::Fleet& judged, std::vector<std::string>& files) {
  std::map<std::string, std::set<std::string>> points;
  for (const fleet::Outlier& one : judged.outliers)
    if (one.status == fleet::Status::suspected)
      points[judged.nodes[one.node].name].insert(judged.metrics[one.metric].point);
  for (const fleet::GroupEffect& effect : judged.effects)
    if (effect.status == fleet::Status::suspected)
      for (const std::size_t node : effect.nodes)
        points[judged.nodes[node].name].insert(judged.metrics[effect.metric].point);
  bool any = false;
  for (const auto& [node, wanted] : points) {
    std::string only;
    for (const std::string& point : wanted) only += (only.empty() ? "" : ",") + point;
    std::string name = node;
    for (char& c : name)
      if (c == '/') c = '_';
    const std::string folder = (fs::path(arguments.out) / ("again-" + name)).string();
    const std::string command =
        filled(filled(filled(arguments.rerun, "{node}", shell_word(node)), "{points}", shell_word(only)), "{out}",
               shell_word(folder));
    print_stderr_line(Text::format("again: {}", command));
    const int status = std::system(command.c_str());
    const std::string file = (fs::path(folder) / "run.json").string();
    if (fs::is_regular_file(file)) {
      files.push_back(file);
      any = true;
    } else {
      print_stderr_line(Text::format("again: {}: no {} (the command ended with {})", node, file,
                                     WIFEXITED(status) ? WEXITSTATUS(status) : status));
    }
  }
  return any;
}

fleet::Fleet judged(const FleetArguments& arguments, const std::vector<std::string>& files) {
  fleet::Options options;
  options.delta_rate = share_of("--delta", arguments.delta, options.delta_rate);
  options.delta_tail = share_of("--delta-tail", arguments.delta_tail, options.delta_tail);
  fleet::Collector collector(arguments.metrics, options.delta_rate, options.delta_tail);
  std::vector<fleet::Unreadable> unreadable;
  collect_all(files, collector, unreadable);
  options.hosts_file = arguments.hosts;
  if (!arguments.hosts.empty()) options.hosts = read_hosts(arguments.hosts);
  return fleet::judge(collector, std::move(unreadable), options);
}

int fleet_verb(const FleetArguments& arguments, const Shared& shared) {
  if (!arguments.rerun.empty() && arguments.out.empty())
    throw UsageError("--rerun: needs --out, where the new runs go");
  if (!arguments.hosts.empty()) read_hosts(arguments.hosts);  // before ten thousand files are
  std::vector<std::string> files;
  for (const std::string& folder : arguments.folders)
    for (std::string& file : run_files_below(folder, "fleet")) files.push_back(std::move(file));
  std::optional<MarkedFolder> folder;
  if (!arguments.out.empty()) folder = MarkedFolder::make_alone(arguments.out, "fleet");
  fleet::Fleet result = judged(arguments, files);
  if (!arguments.rerun.empty() && rerun(arguments, result, files)) result = judged(arguments, files);
  if (result.metrics.empty() && result.pairs.empty())
    throw UsageErrors("fleet: nothing in these runs can be compared" +
                      (result.unreadable.empty() ? std::string() : "\n" + printable(result.unreadable.front().why)));
  print_findings({.name = "fleet",
                  .json = [&] { return fleet_json(result); },
                  .csv = [&] { return fleet_csv(result); },
                  .answer = fleet_answer(result),
                  .text = [&](const Terminal& terminal) { return fleet_text(result, terminal); },
                  .last_line = fleet_last_line(result)},
                 folder, !arguments.no_report, arguments.format, shared);
  return result.exit_code;
}

void add_fleet(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("fleet", "Find nodes, racks and links that differ from the rest, and missing ones");
  auto a = std::make_shared<FleetArguments>();
  verb.option("DIR", a->folders, "Folders with run folders in them, however deep").required();
  verb.option("--hosts FILE", a->hosts, "Who should report: a line per host, 'node01 rack=r1 switch=s1'");
  verb.option("--metric GLOB", a->metrics,
              "Metrics to judge by, as in 'shard_stream.read_bandwidth' (repeatable); default: "
              "those that needs were judged by, else each workload's first")
      .one_value_each();
  verb.option("--rerun COMMAND", a->rerun,
              "Measure suspects again: a shell command with {node}, {points} and {out}, such as "
              "'srun -w {node} headrace run -c node.yaml --only {points} --out {out}'");
  verb.option("--delta SHARE", a->delta, "Smallest deviation that matters (default 5%)");
  verb.option("--delta-tail SHARE", a->delta_tail, "The same for tails (default 10%)");
  verb.option("--out DIR", a->out, "Write fleet.json, fleet.csv and report.html into this folder");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.format(a->format, {"text", "json", "csv"}, "text, json or csv");
  verb.example("headrace fleet runs --metric \"small_file_read.*\"",
               "Which of the nodes whose runs lie below runs/ is unlike the rest");
  verb.does([&shared, a] { return fleet_verb(*a, shared); });
}

const RegisterVerb registered_fleet{87, add_fleet};

}  // namespace
}  // namespace headrace::cli
