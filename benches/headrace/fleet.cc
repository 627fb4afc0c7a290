// headrace fleet: many nodes' runs compared with each other.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "benches/headrace/answer.h"
#include "benches/headrace/compare_options.h"
#include "benches/headrace/console.h"
#include "benches/headrace/run_folders.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/comparison/row_words.h"
#include "harness/analysis/fleet/fleet.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/parallel.h"
#include "harness/base/printable.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

// A judged fleet as people read it in a terminal.

constexpr std::size_t kMostRows = 20;  // of each kind; fleet.json has all

Ink ink_of(fleet::Status status) {
  return status == fleet::Status::confirmed ? Ink::bad : status == fleet::Status::suspected ? Ink::doubt : Ink::faint;
}

Text sign(fleet::Status status, const Terminal& terminal) {
  const Outcome as = status == fleet::Status::confirmed   ? Outcome::fail
                     : status == fleet::Status::suspected ? Outcome::inconclusive
                                                          : Outcome::pass;
  return terminal.paint(symbol(as, terminal.ascii()), ink_of(status));
}

/// The first lines of a list, and how many more there are.
template <class T, class Line>
Text some(const std::vector<T>& items, const char* what, Line line) {
  Text out;
  for (std::size_t i = 0; i < items.size() && i < kMostRows; ++i) out += line(items[i]);
  if (items.size() > kMostRows) out += Text::format("  {} more {}\n", items.size() - kMostRows, what);
  return out;
}

Text fleet_text(const fleet::Fleet& f, const Terminal& terminal) {
  using namespace fleet;
  Text out;
  for (const Group& g : f.groups) {
    if (f.groups.size() > kMostRows && &g - f.groups.data() >= static_cast<long>(kMostRows)) break;
    out += in_lines(Text::format("{}  {} node{}{}", terminal.paint(g.id, Ink::strong), g.nodes, g.nodes == 1 ? "" : "s",
                                 g.judged ? Text() : "  " + Text(g.why)),
                    terminal, 4) +
           "\n";
    for (const GroupDifference& d : g.differs)
      out += "    " +
             terminal.paint(in_lines(Text::format("{}: {} (usual: {})", d.key, d.value.empty() ? "-" : d.value,
                                                  d.usual.empty() ? "-" : d.usual),
                                     terminal, 6),
                            Ink::faint) +
             "\n";
    for (const GroupShift& one : g.shifts)
      out += Text::format("    {} of {}: {} from {}\n", f.metrics[one.metric].metric, f.metrics[one.metric].point,
                          comparison::change_text(1 + one.shift), f.groups[0].id);
  }
  out += "\n";
  out += some(f.effects, "shared shifts", [&](const GroupEffect& e) {
    Text text = in_lines(Text::format("{} {}  {}", sign(e.status, terminal),
                                      terminal.paint(to_string(e.status), ink_of(e.status)), e.explanation),
                         terminal, 4) +
                "\n";
    if (!e.next_step.empty()) text += "    " + terminal.paint(e.next_step, Ink::faint) + "\n";
    return text;
  });
  out += some(f.outliers, "outliers", [&](const Outlier& o) {
    const Text who = terminal.paint(Text::format("{} {}", f.nodes[o.node].name, to_string(o.status)), ink_of(o.status));
    Text text = in_lines(Text::format("{} {}  {}", sign(o.status, terminal), who, o.explanation), terminal, 4) + "\n";
    if (!o.next_step.empty()) text += "    " + terminal.paint(o.next_step, Ink::faint) + "\n";
    return text;
  });
  for (const JudgedPairs& p : f.pairs)
    out += some(p.findings, "slow pairs", [&](const JudgedPair& one) {
      const Text who =
          terminal.paint(Text::format("{} {}", one.finding.subject, to_string(one.status)), ink_of(one.status));
      return in_lines(
                 Text::format("{} {}  {}: {}", sign(one.status, terminal), who, one.finding.kind, one.finding.reported),
                 terminal, 4) +
             "\n";
    });
  out += some(f.missing, "missing", [&](const Missing& m) {
    const Text sign = terminal.paint(symbol(Outcome::skipped, terminal.ascii()), Ink::doubt);
    return in_lines(Text::format("{} {}  {}", sign, m.node, m.why), terminal, 4) + "\n    " +
           terminal.paint(m.next_step, Ink::faint) + "\n";
  });
  out += some(f.unreadable, "unreadable", [&](const fleet::Unreadable& u) {
    return Text::format("{} {}\n", terminal.paint(symbol(Outcome::error, terminal.ascii()), Ink::bad),
                        in_lines(u.why, terminal, 2));
  });
  if (f.noise)
    out += Text::format(
        "\nnodes against themselves: noise floor \u00b1{:.2g} % on {} of them, highest "
        "\u00b1{:.2g} % ({})\n",
        100 * f.noise->median, f.noise->nodes, 100 * f.noise->highest, f.noise->highest_node);
  return out;
}

/// The outcome of all nodes, and the first that differs from the rest.
Answer fleet_answer(const fleet::Fleet& f) {
  using namespace fleet;
  Answer all{.word = f.word, .sentence = Text(f.sentence)};
  for (const Status status : {Status::confirmed, Status::suspected}) {
    for (const GroupEffect& e : f.effects)
      if (e.status == status && all.cause.empty()) all.cause = e.explanation, all.next = e.next_step;
    for (const Outlier& o : f.outliers)
      if (o.status == status && all.cause.empty())
        all.cause = f.nodes[o.node].name + ": " + o.explanation, all.next = o.next_step;
    for (const JudgedPairs& pairs : f.pairs)
      for (const JudgedPair& one : pairs.findings)
        if (one.status == status && all.cause.empty()) all.cause = one.finding.subject + ": " + one.finding.reported;
  }
  if (all.cause.empty() && !f.missing.empty())
    all.cause = f.missing.front().node + ": " + f.missing.front().why, all.next = f.missing.front().next_step;
  return all;
}

/// "VERDICT FAIL expected=64 reported=62 judged=62 outliers=1 suspects=0 group_effects=1 exit=10".
Text fleet_last_line(const fleet::Fleet& f) {
  using fleet::Status;
  return Text::format(
      "VERDICT {} expected={} reported={} judged={} outliers={} suspects={} group_effects={} "
      "suspected_effects={} slow_pairs={} suspected_pairs={} needs_failed={} error={} "
      "inconclusive={} without_needs={} missing={} exit={}",
      headrace::to_string(f.word), f.expected, f.reported, f.judged, f.count(Status::confirmed),
      f.count(Status::suspected), f.effects_that_are(Status::confirmed), f.effects_that_are(Status::suspected),
      f.pairs_that_are(Status::confirmed), f.pairs_that_are(Status::suspected), f.saying(Outcome::fail),
      f.saying(Outcome::error), f.saying(Outcome::inconclusive), f.saying(Outcome::measured),
      f.missing.size() + f.unreadable.size(), f.exit_code);
}

namespace fs = std::filesystem;

struct FleetArguments {
  std::vector<std::string> folders, metrics;
  std::string hosts, out, format = "text", delta, delta_tail, rerun;
  bool no_report = false;
};

/// The folder that a run file is in: what people call the node by when the file reports nothing.
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
    const std::string command = filled(
        filled(filled(arguments.rerun, "{node}", sh_word(node)), "{points}", sh_word(only)), "{out}", sh_word(folder));
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
