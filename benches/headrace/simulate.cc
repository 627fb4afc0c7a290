// headrace simulate: a job on more nodes than were measured, from measured runs or a data sheet.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "benches/headrace/console.h"
#include "benches/headrace/run_folders.h"
#include "benches/headrace/simulate_text.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/simulate/measured_system.h"
#include "harness/base/clock.h"
#include "harness/base/config/sweep.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/printable.h"
#include "harness/base/system/installation.h"
#include "harness/base/units.h"

namespace headrace::cli {
namespace {

constexpr std::size_t kMostCounts = 64;
constexpr double kMostNodes = 65536;

struct SimulateArguments {
  std::string job, sheet, nodes, out, format = "text";
  std::vector<std::string> runs, overrides;
  std::optional<std::uint64_t> seed;
  unsigned seeds = simulate::kSeeds;
  bool no_report = false;
};

/// "1..4096*2" or "8,60,504": whole numbers, fewest first.
std::set<unsigned> counts_of(const std::string& text) {
  Diagnostics problems;
  const Location where{"--nodes", 0, 0};
  std::vector<std::string> words = config::expand_range(text, where, problems);
  problems.throw_if_any();
  if (words.empty())
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      words.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  std::set<unsigned> counts;
  for (const std::string& word : words) {
    const Parsed parsed = parse_quantity(word, Dimension::count);
    if (!parsed || parsed.value < 1 || parsed.value > kMostNodes || parsed.value != std::floor(parsed.value))
      throw UsageError(fmt::format(
          "--nodes: '{}': must be whole numbers of 1 to {:.0f}, as in 1..4096*2 or 8,60,504{}", word, kMostNodes,
          !parsed ? "" : fmt::format("; nearest: {:.0f}", std::clamp(std::round(parsed.value), 1.0, kMostNodes))));
    counts.insert(static_cast<unsigned>(parsed.value));
  }
  if (counts.size() > kMostCounts)
    throw UsageError(fmt::format("--nodes: {} numbers: at most {}", counts.size(), kMostCounts));
  return counts;
}

/// The job with each number of nodes. All numbers that it cannot have are named, with the nearest that it can.
std::vector<job::Job> jobs_of(const SimulateArguments& arguments) {
  const std::string path = system::find_shipped(arguments.job);
  const auto job_on = [&](unsigned nodes) {
    std::vector<std::string> overrides = arguments.overrides;
    overrides.push_back(fmt::format("cluster.nodes={}", nodes));
    return job::load_job(path, overrides);
  };
  if (arguments.nodes.empty()) return {job::load_job(path, arguments.overrides)};
  const std::set<unsigned> counts = counts_of(arguments.nodes);
  std::vector<job::Job> jobs;
  std::string refused;
  for (const unsigned nodes : counts) {
    try {
      jobs.push_back(job_on(nodes));
    } catch (const UsageError& e) {
      std::string near;
      for (unsigned away = 1; away <= 64 && near.empty(); ++away)
        for (const unsigned other : {nodes > away ? nodes - away : 0, nodes + away}) {
          if (other == 0) continue;
          try {
            job_on(other);
            near = fmt::format("; nearest: {}", other);
            break;
          } catch (const UsageError&) {  // neither
          }
        }
      if (near.empty()) throw;  // the fault is not in the nodes
      const std::string why = e.what();
      refused +=
          fmt::format("{}--nodes: {}: {}{}", refused.empty() ? "" : "\n", nodes, why.substr(0, why.find('\n')), near);
    }
  }
  if (!refused.empty()) throw UsageErrors(refused);
  return jobs;
}

simulate::SimulationPlan simulation_plan_of(const SimulateArguments& arguments) {
  if (arguments.runs.empty() && arguments.sheet.empty())
    throw UsageError("simulate: nothing to simulate from: give --runs DIR (measured) or --sheet FILE (stated)");
  if (arguments.seeds < 1) throw UsageError("--seeds: must be at least 1");
  simulate::SimulationPlan plan;
  plan.jobs = jobs_of(arguments);
  plan.seed = arguments.seed.value_or(simulate::kSeed);
  plan.seeds = arguments.seeds;
  plan.threads = std::max(1u, std::thread::hardware_concurrency());
  simulate::Sheet sheet;
  if (!arguments.sheet.empty()) sheet = simulate::load_sheet(system::find_shipped(arguments.sheet));
  if (!arguments.runs.empty()) {
    std::vector<std::string> files;
    for (const std::string& path : arguments.runs)
      for (std::string& file : run_files_below(path, "simulate")) files.push_back(std::move(file));
    std::vector<Unreadable> unreadable;
    const auto runs = read_runs(files, unreadable, false);
    std::string problems;
    for (const Unreadable& one : unreadable) problems += (problems.empty() ? "" : "\n") + printable(one.why);
    if (!problems.empty()) throw UsageErrors(problems);
    plan.system = simulate::measured_system(plan.jobs.back(), runs);
    for (const auto& [key, value] : plan.system.sheet.values) sheet.values.try_emplace(key, value);
  }
  plan.system.add_sheet(std::move(sheet));
  simulate::check(plan);
  return plan;
}

/// One live line on a terminal, or an event each second.
class SimulationProgress {
 public:
  explicit SimulationProgress(const Shared& shared)
      : terminal_(stderr, shared),
        json_(shared.progress == "json"),
        live_(shared.progress == "auto" && terminal_.interactive() && shared.verbosity >= 0) {}
  ~SimulationProgress() {
    if (dirty_) print_stderr("\r\033[K");
  }
  void operator()(double share) {
    const double since = static_cast<double>(now_ns() - begun_ns_) * 1e-9;
    if (share <= 0 || since < shown_s_ + 1) return;
    shown_s_ = since;
    const double left = since / share * (1 - std::min(share, 1.0));
    if (json_)
      return print_json_line(fmt::format(R"({{"event":"simulating","share":{:.3f},"left_s":{:.1f}}})", share, left));
    if (!live_) return;
    print_stderr(
        Text::format("\r\033[Ksimulating  {}  ETA {}", format_percent(std::min(share, 1.0)), format_duration(left)));
    dirty_ = true;
  }

 private:
  const Terminal terminal_;
  const bool json_, live_;
  bool dirty_ = false;
  std::uint64_t begun_ns_ = now_ns();
  double shown_s_ = 0;
};

int simulate_verb(const SimulateArguments& arguments, const Shared& shared) {
  const simulate::SimulationPlan plan = simulation_plan_of(arguments);
  std::optional<MarkedFolder> folder;
  if (!arguments.out.empty()) folder = MarkedFolder::make_alone(arguments.out, "simulation");
  simulate::Simulation simulation;
  {
    SimulationProgress progress(shared);
    simulation = simulate::simulate(plan, [&](double share) { progress(share); });
  }
  print_findings({.name = "simulation",
                  .json = [&] { return simulate::simulation_json(plan, simulation); },
                  .csv = [&] { return simulate::simulation_csv(simulation); },
                  .answer = simulation_answer(plan, simulation),
                  .text = [&](const Terminal& terminal) { return simulation_text(plan, simulation, terminal); },
                  .last_line = simulation_last_line(plan, simulation)},
                 folder, !arguments.no_report, arguments.format, shared);
  return exit_code(simulation.word);
}

void add_simulate(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("simulate", "Expect how a job runs on more nodes than were measured, and what limits it first");
  auto a = std::make_shared<SimulateArguments>();
  verb.option("JOB", a->job, "Job description (configs/jobs/*.yaml)").required();
  verb.option("--runs RUN", a->runs,
              "Measured runs of the shared store: run folders, run.json files, or folders of runs");
  verb.option("--sheet FILE", a->sheet,
              "Stated figures of store, clients and network; alone, or for what the runs lack");
  verb.option("--nodes RANGE", a->nodes,
              "Numbers of nodes: FIRST..LAST*FACTOR, FIRST..LAST+STEP or A,B,C (default: the job's)");
  verb.option("--set KEY=VALUE", a->overrides, "Change the job: KEY=VALUE, as in step.time=100ms").one_value_each();
  verb.option("--seeds N", a->seeds, "Simulations of each number of nodes").between(1, 100000).shows_default();
  verb.option("--seed N", a->seed, "The same seed gives the same result (default 1)");
  verb.option("--out DIR", a->out, "Write simulation.json, simulation.csv and report.html into this folder");
  verb.flag("--no-report", a->no_report, "Do not draw report.html");
  verb.format(a->format, {"text", "json", "csv"}, "text, json or csv");
  verb.example("headrace simulate configs/jobs/llama3-8b.yaml --sheet configs/sheets/nfs.yaml --nodes 1..1024*2",
               "Up to how many nodes a stated store feeds the job");
  verb.does([&shared, a] { return simulate_verb(*a, shared); });
}

const RegisterVerb registered_simulate{86, add_simulate};

}  // namespace
}  // namespace headrace::cli
