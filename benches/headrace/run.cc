// headrace run and headrace qualify: measure what a configuration asks for; qualify also needs
// something to judge.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "benches/headrace/against.h"
#include "benches/headrace/console.h"
#include "benches/headrace/plan_options.h"
#include "benches/headrace/progress.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/summary.h"
#include "benches/headrace/supervisor.h"
#include "benches/headrace/terminal.h"
#include "harness/comparison/noise.h"
#include "harness/engine/engine.h"
#include "harness/engine/rank_sync.h"
#include "harness/peer/tcp_peer.h"
#include "harness/ranks/launch.h"
#include "harness/recorder.h"
#include "harness/results/result_store.h"
#include "harness/system/fingerprint.h"
#include "harness/usage_errors.h"

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

/// The folder of this run, which has it alone: --out, or headrace-runs/ID below the working folder.
MarkedFolder run_folder(const RunArguments& arguments, const std::string& id) {
  if (arguments.out.empty()) return MarkedFolder::make_next((fs::path("headrace-runs") / id).string(), "run");
  const auto refuse_second = [&] {
    if (fs::exists(fs::path(arguments.out) / "run.json"))
      throw UsageError(
          fmt::format("--out: {} already holds a run; runs are never overwritten: name another folder", arguments.out));
  };
  refuse_second();
  MarkedFolder folder = MarkedFolder::make_alone(arguments.out, "run");
  refuse_second();        // another one may have ended meanwhile
  folder.remove_files();  // of a run that was cut short: no old verdict stands beside a new run
  return folder;
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
  constexpr std::size_t kLongest = 200;  // a folder's name ends at 255
  return fmt::format("{}-{}", text, name.substr(0, kLongest));
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
  return noise->summary();
}

results::Remark remark_on(const RunResult& run) {
  if (run.judgements.empty()) return results::Remark::nothing_asked;
  const bool thin =
      std::any_of(run.judgements.begin(), run.judgements.end(), [](const Judgement& j) { return j.thin; });
  return thin ? results::Remark::thin : results::Remark::none;
}

/// A rank other than the first: measures with the others, and leaves words and files to rank 0.
int follow_here(const Plan& plan, Node& node) {
  RunObserver nobody;
  const RunResult result = run_plan(plan, node, nobody);
  if (result.lost.empty()) return 0;
  tell_line(Text::format("headrace: {}: {}", node.ranks().who(node.ranks().rank()), result.lost));
  return 1;
}

/// All of it, in the process that measures. `launch`: how several processes were started.
/// `waited_for`: false once the engine leads them.
int measure_here(const RunArguments& arguments, const Shared& shared, const Plan& plan, Node& node,
                 const std::vector<std::pair<std::string, std::string>>& launch, bool* waited_for = nullptr) {
  node.limit_writes(plan.max_write);
  node.scratch();  // refuses a folder that is not headrace's before anything is written
  const MarkedFolder folder = run_folder(arguments, folder_id(plan));
  // Before measuring: afterwards the storage may no longer answer.
  auto environment = system::fingerprint(plan.target_path, node);
  if (!launch.empty()) environment.emplace_back("launch", launch);
  const auto progress = make_progress(shared, plan);
  if (waited_for != nullptr) *waited_for = false;
  RunResult result = run_plan(plan, node, *progress);
  result.run_id = fs::path(folder.path()).filename().string();
  result.command = without_token(shared.command);
  result.environment = std::move(environment);
  result.noise = noise_beside(folder.path(), result);
  *shared.remark = remark_on(result);
  std::vector<std::string> files = results::write_run(result, folder);

  std::string report_reason;
  if (!arguments.no_report) {
    const Drawn drawn = draw_into(folder, "run.json");
    if (drawn.page.empty()) {
      report_reason = drawn.reason;
    } else {
      files.insert(files.begin(), "report.html");
    }
  }
  if (arguments.json) {
    print_document(results::verdict_json(result) + "\n");
    return result.summary.exit_code;
  }
  if (shared.verbosity >= 0) print(measured_text(result, shared));
  print(verdict_text(result, shared));
  print_line("files   " + wrap(Text::format("{}: {}", folder.path(), join(files)), 90, 8));
  if (!report_reason.empty()) print_line(Text::format("report  not drawn: {}", report_reason));
  print_line(last_line(result.summary));
  return result.summary.exit_code;
}

void check_judges(const Plan& plan) {
  if (plan.needs.empty() && plan.declared_needs.empty()) {
    throw UsageError(
        "qualify: nothing to judge: give a job with --job FILE, or needs in the configuration "
        "(headrace run measures without judging)");
  }
}

constexpr double kMeeting_s = 60;   // for all processes to come, and to say what they run
constexpr double kParting_s = 600;  // rank 0 draws the report while the others wait
constexpr double kLinger_s = 60;    // a launcher ends all processes when one fails: rank 0 writes its files first

/// What the command line asks for, or why it cannot be. Each process of several reads it for
/// itself.
struct Asked {
  std::optional<Plan> plan;
  std::string wrong;

  Asked(const RunArguments& arguments, bool several) {
    try {
      plan = make_plan(plan_options(arguments.plan));
    } catch (const UsageError& e) {
      if (!several) throw;
      wrong = e.what();
    }
  }
};

/// All processes must run the same: told by rank 0 alone. Throws UsageError in each.
void same_plans(Ranks& ranks, const Asked& asked) {
  const std::string own = asked.plan ? asked.plan->config_hash : asked.wrong;
  const auto all = ranks.all_gather("comparing configurations", own, kMeeting_s);
  for (unsigned r = 0; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    throw UsageError(
        fmt::format("{} has another configuration than {} ({} there, {} here): every process needs the same "
                    "files and options",
                    ranks.who(r), ranks.who(0), all[r], all[0]));
  }
  if (!asked.plan) throw UsageErrors(asked.wrong);
}

/// A process that gives no sign of life for so long is lost: at most as long as the shortest
/// timeout that is asked for.
double silence(const std::optional<Plan>& plan) {
  double shortest_s = 10;
  for (const Point& point : plan ? plan->points : std::vector<Point>{})
    if (point.timeout_s > 0) shortest_s = std::min(shortest_s, point.timeout_s);
  return std::max(shortest_s, 2.0);  // pings come twice a second, and machines can be busy
}

/// Rank 0 cannot begin: the others need not wait for it.
void end_followers(Ranks& ranks) {
  try {
    engine::RankSync(ranks).say({.kind = engine::Step::Kind::end});
  } catch (const RanksError&) {  // they know
  }
}

/// Until it ends, which its silence tells.
void wait_for_rank_0(Ranks& ranks) {
  try {
    ranks.exchange("waiting for rank 0", 0, "", kLinger_s);
  } catch (const RanksError&) {
  }
}

/// Rank 0 of several has the last word.
int measure_together(const RunArguments& arguments, const Shared& shared, const Asked& asked,
                     const ranks::Launched& launched) {
  Node node(asked.plan ? asked.plan->target_path : "");
  ranks::Meeting meeting = ranks::meet(node.backends(), launched, kMeeting_s, silence(asked.plan));
  node.join(meeting.ranks);
  const bool leads = node.ranks().rank() == 0;
  int code = 0;
  bool waited_for = false;  // the others wait for what rank 0 says
  try {
    same_plans(node.ranks(), asked);
    waited_for = leads;
    code = leads ? measure_here(arguments, shared, *asked.plan, node, meeting.facts, &waited_for)
                 : follow_here(*asked.plan, node);
  } catch (const std::exception& e) {
    if (leads) tell_error(e);
    code = dynamic_cast<const UsageError*>(&e) != nullptr ? 2 : 1;
    if (waited_for) end_followers(node.ranks());
  }
  // A process that waits for MPI, or for somebody who is gone, cannot end as others do.
  const bool parted = abandoned_threads() == 0 && ranks::part(node.backends(), meeting, kParting_s);
  if (!parted && !leads) wait_for_rank_0(node.ranks());
  if (!parted) leave(code == 0 && !leads ? 1 : code);
  return leads ? code : 0;
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
  const ranks::Launched launched = arguments.dry_run ? ranks::Launched{} : ranks::launched();
  const Asked asked(arguments, launched.several());
  if (launched.several()) {
    if (must_judge && asked.plan) check_judges(*asked.plan);
    return supervised(
        [&] {
          catch_signals();
          return measure_together(arguments, shared, asked, launched);
        },
        launched.rank == 0 ? Role::first : Role::other);
  }
  const Plan& plan = *asked.plan;
  if (must_judge) check_judges(plan);
  if (arguments.dry_run) {
    if (arguments.json)
      print_document(plan_json(plan) + "\n");
    else
      print_line(plan_text(plan, shared));
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
    const int code = measure_here(arguments, shared, plan, node, {});
    if (peer) peer->say_goodbye();
    if (abandoned_threads() > 0) leave(code);  // they still use the node
    return code;
  });
}

void add_verb(Verbs& verbs, Shared& shared, const char* name, const char* help, bool must_judge) {
  Verb verb = verbs.add(name, help);
  auto arguments = std::make_shared<RunArguments>();
  add_plan_options(verb, arguments->plan);
  if (!must_judge) add_against_options(verb, arguments->against);
  verb.option("--out", arguments->out, "Run folder; default headrace-runs/TIME-NAME below the current folder");
  verb.option("--peer", arguments->peer,
              "Host where `headrace serve` waits, the other end of network workloads: HOST, HOST:PORT");
  verb.option("--token", arguments->token, "What `headrace serve` there was started with")
      .or_environment("HEADRACE_TOKEN");
  verb.flag("--dry-run", arguments->dry_run, "Show the plan; run nothing");
  verb.flag("--json", arguments->json, "Print the verdict as JSON, and nothing else, on standard output");
  verb.flag("--no-report", arguments->no_report, "Do not draw report.html");
  verb.does([&shared, arguments, must_judge] { return measure(*arguments, shared, must_judge); });
}

void add_run(Verbs& verbs, Shared& shared) {
  add_verb(verbs, shared, "run", "Measure what a configuration asks for", false);
}

void add_qualify(Verbs& verbs, Shared& shared) {
  add_verb(verbs, shared, "qualify", "Measure, hold against a job's needs, and say PASS or FAIL for each", true);
}

const RegisterVerb run_registered{70, add_run};
const RegisterVerb qualify_registered{80, add_qualify};

}  // namespace
}  // namespace headrace::cli
