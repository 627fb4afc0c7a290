// headrace run, qualify and rehearse: measure a configuration. Qualify also needs something to judge, and rehearse a
// job, whose input pipeline it runs as a whole.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "benches/headrace/against.h"
#include "benches/headrace/calibrate.h"
#include "benches/headrace/console.h"
#include "benches/headrace/expect.h"
#include "benches/headrace/expected_text.h"
#include "benches/headrace/live_table.h"
#include "benches/headrace/plan_options.h"
#include "benches/headrace/progress.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/session/measure.h"
#include "benches/headrace/session/run_folder.h"
#include "benches/headrace/size_text.h"
#include "benches/headrace/summary.h"
#include "benches/headrace/terminal_audience.h"
#include "benches/headrace/verb.h"
#include "harness/analysis/sizing/sizing.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/files/output.h"
#include "harness/base/units.h"
#include "harness/engine/engine.h"
#include "harness/engine/explain/rehearsal.h"
#include "harness/engine/launch.h"
#include "harness/engine/plan/benchmark/rules.h"
#include "harness/engine/plan/room.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/machine/node.h"
#include "harness/results/result_store.h"
#include "harness/results/trace_json.h"
#include "harness/workload/peer/follow.h"
#include "harness/workload/peer/listener.h"
#include "harness/workload/workload.h"

namespace headrace::cli {
namespace {

// headrace run --serve: the other end of network measurements that a headrace on another host leads.

struct ServeArguments {
  std::string address, timeout = "10min";  // "" = serves no client
  bool once = false;
};

constexpr std::size_t kShortestToken = 16;  // characters: cannot be guessed at 5 tries a second

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address.starts_with("[::1]") || address.starts_with("::1") ||
         address.starts_with("localhost");
}

void on_serve_signal(int number) { stop_signal = number; }

/// Serves each client that has `token`, until no client comes. Returns the exit code.
int serve(const ServeArguments& arguments, const std::string& token, const Shared& shared) {
  const peer::Endpoint at = peer::parse_endpoint(arguments.address, "--serve");
  const double timeout_s = time_option("--timeout", arguments.timeout, "10min");

  struct sigaction action {};
  action.sa_handler = on_serve_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const auto log = [&](const std::string& text) {
    if (shared.verbosity >= 0) print_stderr_line(Text::format("serve: {}", text));
  };
  peer::Listener listener(at, token);
  if (is_loopback(listener.address()) && !is_loopback(arguments.address))
    print_stderr_line(
        Text::format("serve: {} is {} here, a loopback address: no other host can connect; name an address of "
                     "this host's network",
                     at.host, listener.address()));
  if (token.size() < kShortestToken)
    throw UsageError(
        fmt::format("serve: --token TEXT (or HEADRACE_TOKEN) must have at least {} characters, {} are given; make one "
                    "with `export HEADRACE_TOKEN=$(openssl rand -hex 16)`, and give it to `headrace run --peer`, too",
                    kShortestToken, token.size()));
  // For its callers: the address, once it listens.
  print_line(Text::format("listening on {}", listener.address()));
  if (const int code = delivered(0)) return code;
  unsigned served = 0;
  while (!(arguments.once && served > 0)) {
    const std::shared_ptr<peer::TcpPeer> leader =
        listener.accept(timeout_s, log, [] { return stop_signal.load() != 0; });
    if (const int number = stop_signal.load()) return 128 + number;
    if (!leader) {
      log(fmt::format("no peer connected within {}", arguments.timeout));
      return served > 0 ? 0 : 1;
    }
    ++served;
    log(fmt::format("{} leads", leader->host(0)));
    Node node("");  // no folder: a follower writes nothing
    node.meet(leader);
    peer::follow(*leader, node, timeout_s, log);
    log(fmt::format("{} has left", leader->host(0)));
  }
  return 0;
}

void add_serve_options(Verb& verb, ServeArguments& arguments) {
  constexpr const char* kHeading = "Remote end of network workloads";
  verb.group(kHeading, true);
  verb.option(
      "--serve ADDRESS", arguments.address,
      "Measure what `run --peer` of another host asks for; bind to ADDRESS, ADDRESS:PORT or [IPV6]:PORT, and no "
      "other (port 18620)");
  verb.group(kHeading, true, "--serve");
  verb.option("--timeout TIME", arguments.timeout,
              "Idle limit: end without a peer, and drop a silent peer, after this time")
      .shows_default();
  verb.flag("--once", arguments.once, "End after the first peer");
  verb.alone("--serve", {"--token"});
}

struct RunArguments {
  PlanArguments plan;
  AgainstArguments against;
  ServeArguments serve;
  std::string out;
  std::string peer, token, rules, trace, live, expectations, calibrate;
  bool json = false, dry_run = false, check = false, no_report = false, tune = false;

  bool runs_nothing() const { return dry_run || check; }
};

results::Remark remark_on(const RunResult& run) {
  if (run.judgements.empty()) return results::Remark::nothing_asked;
  const bool thin =
      std::any_of(run.judgements.begin(), run.judgements.end(), [](const Judgement& j) { return j.thin; });
  return thin ? results::Remark::thin : results::Remark::none;
}

/// Possible improvements, ranked by the sizing of this run alone. Both verbs report the same for a run of a job.
struct Help {
  std::vector<results::StoredRun> runs;  // of the sizing, which points at them
  std::optional<sizing::Sizing> sizing;  // none where nothing would help, or nothing was measured that one is made of
};

Help help_of(const RunResult& run, const std::string& job_file, const MarkedFolder* folder) {
  const Plan& plan = *run.plan;
  Help help;
  if (!plan.job || plan.rehearsal) return help;
  try {
    help.runs.push_back(results::stored_run(run, folder));
    help.sizing = sizing::size(*plan.job, job_file, help.runs);
    if (folder != nullptr) help.sizing->noise = comparison::noise_beside(help.runs.front());
    if (help.sizing->fixes.empty()) help.sizing.reset();
  } catch (const UsageError&) {
  }
  return help;
}

Text rehearsal_text(const RunResult& run) {
  Text out;
  for (const std::string& sentence : engine::describe_rehearsal(run)) out += "  " + wrap(Text(sentence), 94, 4) + "\n";
  return "rehearsal\n" + out + "\n";
}

/// Shows a run on the terminal, and draws its page.
class RunShown final : public TerminalAudience {
 public:
  RunShown(const RunArguments& arguments, const Shared& shared) : arguments_(arguments), shared_(shared) {}

  std::unique_ptr<RunObserver> watch(const Plan& plan) override {
    return with_live_table(make_progress(shared_, plan), arguments_.live);
  }

  int finished(const RunResult& run, const MarkedFolder* folder, std::vector<std::string> files) override {
    *shared_.remark = remark_on(run);
    const PlanArguments& asked = arguments_.plan;
    const Help help = help_of(run, asked.job.empty() ? asked.file : asked.job, folder);
    const Written written = write_more(run, help, folder, std::move(files));
    RunResult shown = run;
    if (written.lost) {
      shown.summary = when_lost(run.summary);
      shown.unstored = "a file was lost";
    }
    if (arguments_.json)
      print_document(results::verdict_json(shown) + "\n");
    else
      show(shown, help, folder, written);
    if (written.lost) print_stderr_line(Text::format("headrace: {}", written.lost->what()));
    return shown.summary.exit_code;
  }

 private:
  /// The files of a run besides its results.
  struct Written {
    std::vector<std::string> files;  // all of its folder
    Text traced;
    std::string report_reason;  // why there is no page; "" = there is one, or none was wanted
    std::optional<RunError> lost = std::nullopt;
  };

  /// A full disk loses the files, but not the figures on the terminal.
  Written write_more(const RunResult& run, const Help& help, const MarkedFolder* folder,
                     std::vector<std::string> files) const {
    Written written{.files = std::move(files), .traced = {}, .report_reason = {}};
    try {
      if (help.sizing && folder != nullptr) {  // the page reads it from there
        folder->write("size.json", sizing_json(*help.sizing));
        written.files.push_back("size.json");
      }
      written.traced = write_trace(run);
    } catch (const RunError& e) {
      written.lost = e;
    }
    if (arguments_.no_report || folder == nullptr) return written;
    const Drawn drawn = draw_into(*folder, "run.json");
    if (drawn.page.empty())
      written.report_reason = drawn.reason;
    else
      written.files.insert(written.files.begin(), "report.html");
    return written;
  }

  void show(const RunResult& run, const Help& help, const MarkedFolder* folder, const Written& written) const {
    print(answer_text(with_loss(answer(run, help), run), Terminal(stdout, shared_)));
    if (shared_.verbosity >= 0) print(measured_text(run, shared_));
    print(expected_text(run.expected, Terminal(stdout, shared_), shared_.verbosity < 0));
    if (run.rehearsal || run.rules) print(rehearsal_text(run));
    print(verdict_text(run, shared_));
    if (help.sizing) print(fixes_text(*help.sizing, Terminal(stdout, shared_)));
    if (folder != nullptr)
      print_line("files   " + wrap(Text::format("{}: {}", folder->path(), join(written.files)), 90, 8));
    if (!written.traced.empty()) print_line(written.traced);
    if (!written.report_reason.empty()) print_line(Text::format("report  not drawn: {}", written.report_reason));
    print_line(last_line(run.summary, run.judgements));
  }

  static Answer answer(const RunResult& run, const Help& help) {
    const bool fed = help.sizing && help.sizing->gpus_fed;
    Answer all = answer_of(run, fed ? std::optional(help.sizing->gpus_fed->mean) : std::nullopt,
                           help.sizing ? help.sizing->job.cluster.gpus() : 0);
    if (!run.rehearsal) return all;
    const std::vector<std::string> said = engine::describe_rehearsal(run);  // the answer first
    all.word = run.summary.word;
    all.sentence = Text(said.front()) + ".";
    all.cause = run.rehearsal->proof.sentence;
    if (run.rehearsal->tuning && run.rehearsal->tuning->advised && said.size() > 1) all.next = said[1];
    return all;
  }

  /// Lost results are part of the answer.
  static Answer with_loss(Answer all, const RunResult& run) {
    if (run.unstored.empty()) return all;
    std::string said = all.sentence.str();
    if (said.ends_with('.')) said.pop_back();
    all.word = run.summary.word;
    all.sentence = Text(said.empty() ? run.unstored : said + "; " + run.unstored) + ".";
    return all;
  }

  /// The trace of the point that kept one. Reports the outcome.
  Text write_trace(const RunResult& run) const {
    if (arguments_.trace.empty()) return {};
    for (const PointResult& point : run.points) {
      if (!point.trace || point.trace->workers.empty()) continue;
      files::write_output(arguments_.trace, results::trace_json(*point.trace, point.point->id, run.run_id));
      const std::size_t left_out = results::left_out(*point.trace);
      return Text::format("trace   {}: the last repetition of {}{}", arguments_.trace, point.point->id,
                          left_out == 0 ? "" : fmt::format("; there was no room for {} of its spans", left_out));
    }
    return Text("trace   not written: nothing was measured that has one");
  }

  const RunArguments& arguments_;
  const Shared& shared_;
};

/// The first pipeline of the plan keeps one. Throws UsageError where there is none.
void keep_trace(Plan& plan) {
  for (Point& point : plan.points)
    if (as<TracesItems>(*point.workload).keep_trace()) return;
  throw UsageError("--trace: no point of this plan has a pipeline of samples (input_pipeline has)");
}

/// Before anything runs: can `path` become a file? Throws UsageError.
void check_trace_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path folder = fs::absolute(path, error).parent_path();
  if (fs::is_directory(path, error)) throw UsageError(fmt::format("--trace: {} is a folder", path));
  if (!fs::is_directory(folder, error)) throw UsageError(fmt::format("--trace: {}: no such folder", folder.string()));
  files::check_output(path, "", "{\"displayTimeUnit\"");
}

void check_judges(const Plan& plan) {
  if (plan.needs.empty() && plan.declared_needs.empty()) {
    if (plan.job)
      throw UsageError(
          "qualify: the selected points measure none of the job's needs: select others (--only, --skip; headrace run "
          "--dry-run lists them), or measure without judging (headrace run)");
    throw UsageError(
        "qualify: nothing to judge: give a job, or needs in the configuration "
        "(headrace run measures without judging)");
  }
}

int compare_with(const RunArguments& arguments, const Shared& shared) {
  if (arguments.against.itself && !arguments.against.with.empty())
    throw UsageError("--against or --against-itself: one of them at a time");
  AgainstArguments against = arguments.against;
  against.out = arguments.out;
  against.json = arguments.json;
  against.dry_run = arguments.runs_nothing();
  against.no_report = arguments.no_report;
  if (!arguments.peer.empty()) {
    against.passed_on = {"--peer", arguments.peer};
    // Not on the turns' command lines, which blocks.json keeps.
    if (!arguments.token.empty()) ::setenv("HEADRACE_TOKEN", arguments.token.c_str(), 1);
  }
  Shared reported = shared;
  reported.command = session::without_token(shared.command);
  return against.itself ? measure_against_itself(arguments.plan, against, reported)
                        : measure_against(arguments.plan, against, reported);
}

enum class Kind { run, qualify, rehearse };

/// The parts of a rehearsal follow from the job.
PlanOptions rehearsal_options(const RunArguments& arguments) {
  if (!arguments.rules.empty()) check_rules_name(arguments.rules);
  if (!arguments.rules.empty() && arguments.tune)
    throw UsageError(
        "rehearse: --rules leaves decoding out, and the workers that --tune then finds are too few for the job: "
        "one of them at a time");
  PlanArguments files = arguments.plan;
  if (files.job.empty() && files.config.empty() && !is_configuration(files.file))
    std::swap(files.job, files.file);  // the reader of jobs has the reason
  PlanOptions options = plan_options(files);
  options.rules = arguments.rules;
  options.tune = arguments.tune;
  if (!options.config_file.empty() || options.job_file.empty())
    throw UsageError(
        "rehearse: give a job and no configuration, as the job decides the tests (headrace run -c "
        "configs/rehearsal.yaml measures a pipeline without a job)");
  options.rehearse = true;
  return options;
}

/// The plan of a rehearsal, whose decoder is measured first where that is asked for.
Plan rehearsal_plan(const RunArguments& arguments) {
  PlanOptions options = rehearsal_options(arguments);
  if (arguments.calibrate.empty()) return make_plan(options);
  if (!arguments.rules.empty()) throw UsageError("rehearse: --rules leaves decoding out: without --calibrate");
  if (options.processes > 1)
    throw UsageError("rehearse: --calibrate is for one process: give several dataset.cpu_time_per_sample");
  if (arguments.runs_nothing()) {
    Plan plan = make_plan(options);
    plan.remarks.emplace_back(
        "--calibrate: nothing is decoded by --dry-run or --check, and the points have no time of it");
    return plan;
  }
  const Calibration found = calibrate(arguments.calibrate, options);
  options.job_overrides.push_back("dataset.cpu_time_per_sample=" +
                                  exact_quantity(found.cpu_time_s, Dimension::seconds));
  Plan plan = make_plan(options);
  plan.calibration = found.how;
  return plan;
}

/// A run's plan, or only that its files are right.
void print_plan(const RunArguments& arguments, const Plan& plan, const Shared& shared) {
  if (ranks::launched().rank > 0) return;  // rank 0 prints it for all
  if (arguments.json)
    print_document(plan_json(plan) + "\n");
  else if (arguments.check)
    print_line(Text::format("{}: good: {} points, {} needs", plan.config_file, plan.points.size(),
                            plan.needs.size() + plan.declared_needs.size()));
  else
    print_line(plan_text(plan, shared));
}

int measure(const RunArguments& arguments, const Shared& shared, Kind kind) {
  if (!arguments.serve.address.empty()) return serve(arguments.serve, arguments.token, shared);
  if (!arguments.trace.empty()) check_trace_file(arguments.trace);
  if (!arguments.against.with.empty() || arguments.against.itself) {
    if (!arguments.trace.empty())
      throw UsageError("--trace: of one run, not of two places by turns: without --against");
    if (!arguments.live.empty()) throw UsageError("--live: of one run, not of two places by turns: without --against");
    return compare_with(arguments, shared);
  }
  const auto plan = [&] {
    Plan made = kind == Kind::rehearse ? rehearsal_plan(arguments) : make_plan(plan_options(arguments.plan));
    if (kind == Kind::qualify) check_judges(made);
    check_room(made, arguments.out.empty() ? session::kRuns : arguments.out);
    if (!arguments.trace.empty()) keep_trace(made);
    check_live_table(arguments.live, made);
    return made;
  };
  const expectations::Table table = expectations_table(arguments.expectations);
  if (arguments.runs_nothing()) {
    print_plan(arguments, plan(), shared);
    return 0;
  }
  RunShown audience(arguments, shared);
  return session::measure(plan,
                          {.out = arguments.out,
                           .peer = arguments.peer,
                           .token = arguments.token,
                           .command = shared.command,
                           .table = table},
                          audience);
}

void add_verb(Verbs& verbs, Shared& shared, const char* name, const char* help, Kind kind) {
  Verb verb = verbs.add(name, help);
  auto arguments = std::make_shared<RunArguments>();
  add_plan_options(verb, arguments->plan);
  if (kind == Kind::run) add_against_options(verb, arguments->against);
  verb.group("Output");
  verb.option("--out DIR", arguments->out, "Run folder; default headrace-runs/TIME-NAME");
  verb.flag("--dry-run", arguments->dry_run, "Show the plan: points, bytes, time, needs; run nothing");
  verb.flag("--check", arguments->check, "Check all files completely; run nothing");
  verb.flag("--json", arguments->json, "Print only JSON");
  verb.flag("--no-report", arguments->no_report, "Do not draw report.html");
  verb.option("--live FILE", arguments->live, "Append the rates to this CSV file while it measures");
  verb.group("Network, tables and traces", true);
  verb.option("--peer HOST", arguments->peer,
              "Host with `headrace run --serve`, the remote end of network workloads: HOST, HOST:PORT");
  verb.option("--token", arguments->token, "The token of that `headrace run --serve`").or_environment("HEADRACE_TOKEN");
  add_expectations_option(verb, arguments->expectations);
  if (kind != Kind::qualify)
    verb.option("--trace FILE", arguments->trace,
                "Write the time line of every sample in the input pipeline as Chrome trace JSON (for Perfetto)");
  if (kind == Kind::rehearse) {
    verb.group("Loader");
    verb.flag("--tune", arguments->tune, "Find the smallest loader setting that feeds the GPUs");
    verb.option("--calibrate DECODER", arguments->calibrate,
                "Measure the job's decoder first: pillow, torchvision, opencv, dali, or a command that gets files and "
                "prints seconds");
    verb.option("--rules NAME", arguments->rules, "Check the rules of a benchmark: mlperf-v2 or mlperf-v3");
    verb.example("headrace rehearse configs/jobs/resnet50-imagenet.yaml --at /tmp/headrace-scratch --budget 2min",
                 "What share of the time would the GPUs of a ResNet-50 compute, and what keeps them waiting?");
  } else if (kind == Kind::qualify) {
    verb.example("headrace qualify configs/jobs/resnet50-imagenet.yaml --at /tmp/headrace-scratch --budget 1min",
                 "Can this storage feed a ResNet-50 on eight GPUs?");
  } else {
    verb.example("headrace run -c configs/storage.yaml --only random_read --set target.path=/tmp/headrace-scratch",
                 "One workload of a configuration, with its data elsewhere");
    verb.example("headrace run -c configs/storage.yaml --against /tmp/other-scratch --blocks 6",
                 "Two places measured by turns, and compared");
    add_serve_options(verb, arguments->serve);
  }
  verb.does([&shared, arguments, kind] { return measure(*arguments, shared, kind); });
}

void add_run(Verbs& verbs, Shared& shared) {
  add_verb(verbs, shared, "run", "Run the tests of a configuration", Kind::run);
}

void add_qualify(Verbs& verbs, Shared& shared) {
  add_verb(verbs, shared, "qualify", "Measure what a job needs, with PASS or FAIL for each requirement", Kind::qualify);
}

void add_rehearse(Verbs& verbs, Shared& shared) {
  add_verb(verbs, shared, "rehearse", "Run the input pipeline of a job: GPU utilization, and its bottleneck",
           Kind::rehearse);
}

const RegisterVerb run_registered{70, add_run};
const RegisterVerb qualify_registered{80, add_qualify};
const RegisterVerb rehearse_registered{81, add_rehearse};

}  // namespace
}  // namespace headrace::cli
