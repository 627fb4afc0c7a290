#include "benches/headrace/session/measure.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "benches/headrace/session/run_folder.h"
#include "benches/headrace/session/supervisor.h"
#include "harness/analysis/comparison/noise.h"
#include "harness/base/diagnostics.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/object_path.h"
#include "harness/base/version.h"
#include "harness/engine/explain/client_headroom.h"
#include "harness/engine/explain/evidence.h"
#include "harness/engine/launch.h"
#include "harness/engine/plan/room.h"
#include "harness/engine/rank_sync.h"
#include "harness/judge/expectations/parts.h"
#include "harness/judge/verdict/verdict.h"
#include "harness/judge/verdict/word.h"
#include "harness/machine/examine/fingerprint.h"
#include "harness/machine/mount.h"
#include "harness/results/result_store.h"
#include "harness/workload/peer/tcp_peer.h"
#include "harness/workload/workload.h"

namespace headrace::session {
namespace {

constexpr double kMeet_s = 10;      // for a peer to answer
constexpr double kMeeting_s = 60;   // for all processes to connect, and to send their plan
constexpr double kParting_s = 600;  // rank 0 draws the report while the others wait
constexpr double kStopping_s = 5;   // a stopping process waits no longer for an MPI whose launcher may be gone
constexpr double kLinger_s = 60;    // a launcher ends all processes when one fails: rank 0 writes its files first

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

/// The noise floor from an A/A run with the same machine, settings and program, next to this run's folder.
std::optional<NoiseFloor> noise_beside(const std::string& folder, const RunResult& run) {
  results::StoredRun like;
  like.version = run.build.version;
  like.revision = run.build.revision;
  for (const auto& [section, facts] : run.environment)
    for (const auto& [key, value] : facts) like.environment[section + "." + key] = value;
  try {
    const auto noise = comparison::newest_noise(folder, like);
    return noise ? std::optional(noise->summary()) : std::nullopt;
  } catch (const RunError&) {  // the run matters more than the files next to it
    return std::nullopt;
  }
}

/// The first data set of the user's that a point reads; "" = none does.
std::string own_data_of(const Plan& plan) {
  for (const Point& point : plan.points)
    if (const auto path = point.params.find("path"); path != point.params.end())
      if (const auto* text = std::get_if<std::string>(&path->second); text != nullptr && !text->empty()) return *text;
  return "";
}

/// A rank other than the first: measures with the others, and leaves words and files to rank 0.
int follow_here(const Plan& plan, Node& node, Audience& audience) {
  RunObserver nobody;
  const RunResult result = run_plan(plan, node, nobody);
  if (result.lost.empty()) return 0;
  audience.lost(node.ranks().who(node.ranks().rank()), result.lost);
  return 1;
}

/// The rate of this host's ports, where its data come over a network; else 0 [B/s].
double ports_to_storage(const std::string& path, std::span<const expectations::Part> parts) {
  const auto mount = is_object_path(path) ? std::nullopt : system::mount_of(path);
  if (!is_object_path(path) && (!mount || !system::is_network_file_system(mount->type))) return 0;
  double rate = 0;
  for (const expectations::Part& part : parts)
    if (part.up && part.kind.ends_with("_port")) rate += part.rate;
  return rate;
}

/// A full disk loses the files, but not the figures on the terminal.
int finished_unstored(RunResult& result, const RunError& why, Audience& audience) {
  result.summary = when_lost(result.summary);
  result.unstored = "the results were lost";
  const int code = audience.finished(result, nullptr, {});
  audience.failed(RunError(fmt::format("headrace: the results could not be stored: {}", why.what())));
  return exit_code_when_lost(code);
}

/// All of it, in the process that measures. `launch`: how several processes were started.
/// `waited_for`: false once the engine leads them.
int measure_here(const Plan& plan, const Wanted& wanted, Audience& audience, Node& node,
                 const std::vector<std::pair<std::string, std::string>>& launch, bool* waited_for = nullptr) {
  node.limit_writes(plan.max_write);
  // Refuses a folder that is not headrace's before anything is written. Who only reads needs none.
  if (bytes_to_write(plan) > 0) node.make_scratch();
  std::optional<MarkedFolder> folder;
  if (wanted.store) folder = run_folder(wanted.out, plan.name);
  // Before measuring: afterwards the storage may no longer answer.
  auto environment = system::fingerprint(plan.target_path, node, own_data_of(plan));
  if (!launch.empty()) environment.emplace_back("launch", launch);
  auto parts = expectations::parts_of(node, plan.target_path, wanted.table);
  const auto observer = audience.watch(plan);
  if (waited_for != nullptr) *waited_for = false;
  const auto complete = [&](RunResult& result) {
    result.command = without_token(wanted.command);
    result.environment = environment;
    if (folder) result.run_id = std::filesystem::path(folder->path()).filename().string();
  };
  EngineLimits limits;
  limits.never_passes = slow_build();
  std::optional<SoFar> kept;
  if (folder) {
    kept.emplace(*folder);
    limits.after_point = [&](const std::function<RunResult()>& so_far) {
      if (!kept->is_due()) return;
      RunResult known = so_far();
      complete(known);
      kept->write(known);
    };
  }
  RunResult result = run_plan(plan, node, *observer, limits);
  complete(result);
  result.expected = expectations::hold(parts, wanted.table, engine::recorded(result.points));
  report_client_headrooms(result.points, node.cores(), ports_to_storage(plan.target_path, parts));
  result.parts = std::move(parts);
  if (!folder) return audience.finished(result, nullptr, {});
  result.noise = noise_beside(folder->path(), result);
  std::vector<std::string> files;
  try {
    files = results::write_run(result, *folder);
    folder->remove_file(kSoFar);
  } catch (const RunError& e) {
    return finished_unstored(result, e, audience);
  }
  return audience.finished(result, &*folder, std::move(files));
}

/// The command line's plan, or its error. Each process of several reads it for itself.
struct Asked {
  std::optional<Plan> plan;
  std::string wrong;

  Asked(const std::function<Plan()>& make_plan, bool several) {
    try {
      plan = make_plan();
    } catch (const std::exception& e) {
      if (!several) throw;
      wrong = e.what();
    }
  }
};

/// All processes must run the same: reported by rank 0 alone. Throws UsageError in each.
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

/// A process without a sign of life for this time is lost: at most the shortest timeout of the plan.
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

/// Until it ends, which its silence reports.
void wait_for_rank_0(Ranks& ranks) {
  try {
    ranks.exchange("waiting for rank 0", 0, "", kLinger_s);
  } catch (const RanksError&) {
  }
}

/// Rank 0 of several has the last word.
int measure_together(const Asked& asked, const Wanted& wanted, Audience& audience, const ranks::Launched& launched) {
  Node node(asked.plan ? asked.plan->target_path : "");
  ranks::Meeting meeting = ranks::meet(node.backends(), launched, kMeeting_s, silence(asked.plan));
  node.join(meeting.ranks);
  const bool leads = node.ranks().rank() == 0;
  int code = 0;
  bool waited_for = false;  // the others wait for rank 0
  try {
    same_plans(node.ranks(), asked);
    waited_for = leads;
    code = leads ? measure_here(*asked.plan, wanted, audience, node, meeting.facts, &waited_for)
                 : follow_here(*asked.plan, node, audience);
  } catch (const std::exception& e) {
    if (leads) audience.failed(e);
    code = dynamic_cast<const UsageError*>(&e) != nullptr ? 2 : 1;
    if (waited_for) end_followers(node.ranks());
  }
  // A process that waits for MPI, or for a peer that is gone, cannot end as others do.
  const double parting_s = stop_signal.load() == 0 ? kParting_s : kStopping_s;
  const bool parted = abandoned_threads() == 0 && ranks::part(node.backends(), meeting, parting_s);
  if (!parted && !leads) wait_for_rank_0(node.ranks());
  if (!parted) leave(audience.delivered(code == 0 && !leads ? 1 : code));
  return leads ? code : 0;
}

}  // namespace

std::vector<std::string> without_token(std::vector<std::string> command) {
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i].starts_with("--token=")) command[i] = "--token=***";
    if (i > 0 && command[i - 1] == "--token") command[i] = "***";
  }
  return command;
}

int measure(const std::function<Plan()>& make_plan, const Wanted& wanted, Audience& audience) {
  const ranks::Launched launched = ranks::launched();
  const Asked asked(make_plan, launched.several());
  if (launched.several()) {
    return supervised(
        [&] {
          catch_signals();
          return measure_together(asked, wanted, audience, launched);
        },
        launched.rank == 0 ? Role::first : Role::other);
  }
  const Plan& plan = *asked.plan;
  std::optional<peer::Endpoint> other;
  if (!wanted.peer.empty()) other = peer::parse_endpoint(wanted.peer, "--peer");
  if (other && wanted.token.empty())
    throw UsageError(
        "--peer: the token is needed that `headrace run --serve` was started with: --token TEXT, or "
        "HEADRACE_TOKEN");
  return supervised([&] {
    catch_signals();
    Node node(plan.target_path);
    std::shared_ptr<peer::TcpPeer> peer;
    if (other) node.meet(peer = peer::meet(*other, wanted.token, kMeet_s));
    const int code = measure_here(plan, wanted, audience, node, {});
    if (peer) peer->say_goodbye();
    if (abandoned_threads() > 0) leave(audience.delivered(code));  // they still use the node
    return code;
  });
}

}  // namespace headrace::session
