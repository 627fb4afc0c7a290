// headrace run and headrace qualify: measure what a configuration asks for; qualify also needs
// something to judge.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "benches/headrace/against.h"
#include "benches/headrace/plan_options.h"
#include "benches/headrace/progress.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/summary.h"
#include "benches/headrace/supervisor.h"
#include "benches/headrace/terminal.h"
#include "harness/comparison/noise.h"
#include "harness/engine.h"
#include "harness/peer/tcp_peer.h"
#include "harness/recorder.h"
#include "harness/results/result_store.h"
#include "harness/system/fingerprint.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  PlanArguments plan;
  AgainstArguments against;
  std::string out;
  std::string peer, token;
  bool json = false, dry_run = false, no_report = false;
};

constexpr double kMeet_s = 10;

/// The first signal asks for a clean stop; a later one ends the program at once, as the shell
/// expects.
void on_signal(int number) {
  switch (count_request()) {
    case Request::first:
      stop_signal = number;
      break;
    case Request::same:
      break;
    case Request::again:
      _exit(128 + number);
  }
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

/// The folder of this run, made and marked now: --out, or headrace-runs/ID below the working
/// folder.
std::string run_folder(const RunArguments& arguments, const std::string& id) {
  if (!arguments.out.empty()) {
    if (fs::exists(fs::path(arguments.out) / "run.json")) {
      throw UsageError(fmt::format(
          "--out: {} already holds a run; runs are never overwritten: name another folder",
          arguments.out));
    }
    return MarkedFolder::make(arguments.out, "run").path();
  }
  std::string folder = (fs::path("headrace-runs") / id).string();
  for (int n = 2; fs::exists(folder); ++n)
    folder = (fs::path("headrace-runs") / fmt::format("{}-{}", id, n)).string();
  return MarkedFolder::make(folder, "run").path();
}

std::string folder_id(const Plan& plan) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &utc);
  std::string name = plan.name;
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '-';
  }
  return fmt::format("{}-{}", text, name);
}

/// The command line for run files, which others may read: without the token.
std::vector<std::string> without_token(std::vector<std::string> command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i].starts_with("--token=")) command[i] = "--token=***";
    if (i > 0 && command[i - 1] == "--token") command[i] = "***";
  }
  return command;
}

/// What was measured beside this run of the same machine, settings and program against themselves.
std::optional<NoiseFloor> noise_beside(const std::string& folder, const RunResult& run) {
  results::StoredRun like;
  like.version = run.build.version;
  like.revision = run.build.revision;
  for (const auto& [section, facts] : run.environment)
    for (const auto& [key, value] : facts) like.environment[section + "." + key] = value;
  const auto noise = comparison::newest_noise(folder, like);
  if (!noise) return std::nullopt;
  const comparison::NoiseSummary summary = noise->summary();
  return NoiseFloor{summary.source, summary.median, summary.false_alarm_rate};
}

/// All of it, in the process that measures.
int measure_here(const RunArguments& arguments, const Shared& shared, const Plan& plan,
                 Node& node) {
  node.limit_writes(plan.max_write);
  node.scratch();  // refuses a folder that is not headrace's before anything is written
  const std::string folder = run_folder(arguments, folder_id(plan));
  // Before measuring: afterwards the storage may no longer answer.
  auto environment = system::fingerprint(plan.target_path, node);
  const auto progress = make_progress(shared, plan);
  RunResult result = run_plan(plan, node, *progress);
  result.run_id = fs::path(folder).filename().string();
  result.command = without_token(shared.command);
  result.environment = std::move(environment);
  result.noise = noise_beside(folder, result);
  std::vector<std::string> files = results::write_run(result, folder);

  std::string report_reason;
  if (!arguments.no_report) {
    const Drawn drawn = draw_report((fs::path(folder) / "run.json").string(),
                                    (fs::path(folder) / "report.html").string());
    if (drawn.file.empty()) {
      report_reason = drawn.reason;
    } else {
      files.insert(files.begin(), "report.html");
    }
  }
  if (arguments.json) {
    std::puts(results::verdict_json(result).c_str());
    return result.summary.exit_code;
  }
  if (shared.verbosity >= 0) std::fputs(measured_text(result, shared).c_str(), stdout);
  std::fputs(verdict_text(result, shared).c_str(), stdout);
  std::printf("files   %s\n", wrap(fmt::format("{}: {}", folder, join(files)), 90, 8).c_str());
  if (!report_reason.empty()) std::printf("report  not drawn: %s\n", report_reason.c_str());
  std::puts(last_line(result.summary).c_str());
  return result.summary.exit_code;
}

int measure(const RunArguments& arguments, const Shared& shared, bool must_judge) {
  if (!arguments.against.with.empty()) {
    AgainstArguments against = arguments.against;
    against.out = arguments.out;
    against.json = arguments.json;
    against.dry_run = arguments.dry_run;
    against.no_report = arguments.no_report;
    if (!arguments.peer.empty()) {
      against.passed_on = {"--peer", arguments.peer};
      // Not on the turns' command lines, which blocks.json keeps.
      if (!arguments.token.empty()) ::setenv("HEADRACE_TOKEN", arguments.token.c_str(), 1);
    }
    Shared told = shared;
    told.command = without_token(shared.command);
    return measure_against(arguments.plan, against, told);
  }
  const PlanOptions options = plan_options(arguments.plan);
  const Plan plan = make_plan(options);
  if (must_judge && plan.needs.empty() && plan.declared_needs.empty()) {
    throw UsageError(
        "qualify: nothing to judge: give a job with --job FILE, or needs in the configuration "
        "(headrace run measures without judging)");
  }
  if (arguments.dry_run) {
    std::puts((arguments.json ? plan_json(plan) : plan_text(plan, shared)).c_str());
    return 0;
  }
  std::optional<peer::Endpoint> other;
  if (!arguments.peer.empty()) other = peer::parse_endpoint(arguments.peer, "--peer");
  if (other && arguments.token.empty())
    throw UsageError(
        "--peer: the token is needed that `headrace serve` was started with: --token TEXT, or "
        "HEADRACE_TOKEN");
  return supervised([&] {
    catch_signals();
    Node node(plan.target_path);
    std::shared_ptr<peer::TcpPeer> peer;
    if (other) node.meet(peer = peer::meet(*other, arguments.token, kMeet_s));
    const int code = measure_here(arguments, shared, plan, node);
    if (peer) peer->say_goodbye();
    if (abandoned_threads() > 0) leave(code);  // they still use the node
    return code;
  });
}

void add_verb(CLI::App& app, Shared& shared, std::function<int()>& run, const char* name,
              const char* help, bool must_judge) {
  auto* verb = app.add_subcommand(name, help);
  auto arguments = std::make_shared<RunArguments>();
  add_plan_options(*verb, arguments->plan);
  if (!must_judge) add_against_options(*verb, arguments->against);
  verb->add_option("--out", arguments->out,
                   "Run folder; default headrace-runs/TIME-NAME below the current folder");
  verb->add_option(
      "--peer", arguments->peer,
      "Host where `headrace serve` waits, the other end of network workloads: HOST, HOST:PORT");
  verb->add_option("--token", arguments->token, "What `headrace serve` there was started with")
      ->envname("HEADRACE_TOKEN");
  verb->add_flag("--dry-run", arguments->dry_run, "Show the plan; run nothing");
  verb->add_flag("--json", arguments->json,
                 "Print the verdict as JSON, and nothing else, on standard output");
  verb->add_flag("--no-report", arguments->no_report, "Do not draw report.html");
  verb->callback([&shared, &run, arguments, must_judge] {
    run = [&shared, arguments, must_judge] { return measure(*arguments, shared, must_judge); };
  });
}

void add_run(CLI::App& app, Shared& shared, std::function<int()>& run) {
  add_verb(app, shared, run, "run", "Measure what a configuration asks for", false);
}

void add_qualify(CLI::App& app, Shared& shared, std::function<int()>& run) {
  add_verb(app, shared, run, "qualify",
           "Measure, hold against a job's needs, and say PASS or FAIL for each", true);
}

const RegisterVerb run_registered{70, add_run};
const RegisterVerb qualify_registered{80, add_qualify};

}  // namespace
}  // namespace headrace::cli
