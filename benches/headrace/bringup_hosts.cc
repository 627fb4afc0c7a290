#include "benches/headrace/bringup_hosts.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "benches/headrace/bringup_folder.h"
#include "benches/headrace/bringup_text.h"
#include "benches/headrace/console.h"
#include "benches/headrace/session/supervisor.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/verb.h"
#include "harness/backends/loader.h"
#include "harness/base/config/layers.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/escape.h"
#include "harness/base/file_text.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/folder_place.h"
#include "harness/base/object_path.h"
#include "harness/base/system/installation.h"
#include "harness/base/units.h"
#include "harness/bringup/agents/own_run.h"
#include "harness/bringup/blame/topology.h"
#include "harness/bringup/bring_up.h"
#include "harness/bringup/conclusion.h"
#include "harness/bringup/hand_over.h"
#include "harness/bringup/record.h"
#include "harness/engine/engine.h"
#include "harness/engine/launch.h"
#include "harness/engine/plan/plan.h"
#include "harness/job/job.h"
#include "harness/results/stored_verdict.h"

namespace headrace::cli {
namespace {

// Reports a person on standard error how far a bring-up is.

using namespace bringup;

class BringupProgress final : public Audience {
 public:
  explicit BringupProgress(const Shared& shared)
      : terminal_(stderr, shared),
        json_(shared.progress == "json"),
        silent_(shared.progress == "none" || shared.verbosity < 0),
        live_(shared.progress == "auto" && terminal_.interactive()) {}
  ~BringupProgress() override { clear(); }

  void started(std::size_t known, std::size_t all) override {
    if (json_) return event({{"event", "agents"}, {"known", known}, {"all", all}});
    if (live_) show(Text::format("starting agents  {} of {}", known, all));
  }

  void looked(const Record& record) override {
    std::size_t differing = 0;
    for (const NodeRecord& node : record.nodes) {
      const bool fault = std::any_of(node.differences.begin(), node.differences.end(),
                                     [](const Difference& one) { return one.fault; });
      differing += fault;
      if (node.missing) say_missing(node);
    }
    if (json_) return event({{"event", "looked"}, {"missing", record.missing()}, {"unlike_the_others", differing}});
    say(Text::format("looked at {} hosts: {} missing, {} unlike the others", record.nodes.size(), record.missing(),
                     differing));
  }

  void step(const char* what, std::size_t nodes) override {
    if (json_) return event({{"event", "step"}, {"step", what}, {"nodes", nodes}});
    const Text text = Text::format("{}  on {} nodes at once", what, nodes);
    live_ ? show(text) : say(text);
  }

  void round(unsigned number, std::size_t pairs, double left_s) override {
    if (json_) return event({{"event", "round"}, {"round", number}, {"pairs", pairs}, {"left_s", left_s}});
    const Text text = Text::format("round {}  {} pair{}  about {} left", number, pairs, pairs == 1 ? "" : "s",
                                   format_duration(left_s));
    live_ ? show(text) : say(text);
  }

  void measured(const RoundRecord& round, const Record& record) override {
    for (const NodeRecord& node : record.nodes)
      if (node.missing) say_missing(node);
    if (json_)
      return event({{"event", "measured"},
                    {"pairs", round.pairs.size()},
                    {"failed", round.failed.size()},
                    {"accepted", record.nodes_that_are(NodeState::accepted)},
                    {"confirmed", record.nodes_that_are(NodeState::confirmed)}});
    for (const FailedPair& one : round.failed)
      say(Text::format("not measured: {} to {}: {}", record.nodes[one.a].host.name, record.nodes[one.b].host.name,
                       one.why));
  }

 private:
  /// Once each.
  void say_missing(const NodeRecord& node) {
    if (std::find(said_.begin(), said_.end(), node.host.name) != said_.end()) return;
    said_.push_back(node.host.name);
    if (json_) return event({{"event", "missing"}, {"node", node.host.name}, {"why", node.missing.why}});
    say(Text::format("missing: {}: {}", node.host.name, node.missing.why));
  }
  void event(const nlohmann::json& json) {
    if (!silent_) print_json_line(json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  }
  void say(const Text& text) {
    if (silent_ || json_) return;
    clear();
    print_stderr_line(text);
  }
  void show(const Text& text) {
    if (silent_) return;
    clear();
    print_stderr(cut(text, static_cast<std::size_t>(terminal_.width() - 1)));
    dirty_ = true;
  }
  void clear() {
    if (dirty_) print_stderr("\r\033[K");
    dirty_ = false;
  }

  const Terminal terminal_;
  const bool json_, silent_, live_;
  bool dirty_ = false;
  std::vector<std::string> said_;
};

/// By --progress: one live line on a terminal, else a line a round; an object a line; or nothing.
std::unique_ptr<Audience> make_bringup_progress(const Shared& shared) {
  return std::make_unique<BringupProgress>(shared);
}

constexpr const char *kNodeTests = "configs/bring-up.yaml", *kGroupTests = "configs/bring-up-groups.yaml";

/// The first signal asks for a clean stop, a later one ends at once.
void on_signal(int number) {
  if (session::count_request() == session::Request::again) ::_exit(128 + number);
  stop_signal = number;
}

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

void check_launch(const std::string& launch) {
  if (!launch.empty() && launch.find("{host}") == launch.npos)
    throw UsageError("--launch: must contain {host}, which becomes the host's name, as in 'ssh {host}'");
}

std::string launcher(const Record& record) {
  if (!record.launch.empty()) return record.launch;
  // In a job's own allocation its launcher needs no keys, and keeps to the job's limits.
  if (std::getenv("SLURM_JOB_ID") != nullptr) return "srun --overlap --nodes=1 --ntasks=1 --nodelist={host}";
  return "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 {host}";
}

std::vector<std::string> commands(const Record& record) {
  const std::string remote = record.remote.empty() ? sh_word(system::installation().binary) : record.remote;
  const std::string launch = launcher(record);
  std::vector<std::string> all;
  for (const NodeRecord& node : record.nodes) {
    std::string command = launch;
    for (std::size_t at = 0; (at = command.find("{host}", at)) != command.npos;) {
      const std::string login = sh_word(node.host.login());
      command.replace(at, 6, login);
      at += login.size();
    }
    all.push_back(command + " " + remote + " bringup --agent");
  }
  return all;
}

/// Paths of the job that every host must have; objects are no paths.
std::vector<std::string> paths_of(const std::string& job_file) {
  std::vector<std::string> paths;
  if (job_file.empty()) return paths;
  const job::Job job = job::load_job(job_file);
  if (!job.dataset.path.empty() && job.dataset.path.find("://") == std::string::npos) paths.push_back(job.dataset.path);
  if (job.local_cache && !job.local_cache->path.empty()) paths.push_back(job.local_cache->path);
  return paths;
}

/// The nodes of a hosts file, with the data of an earlier record where it has them. New ones join, absent ones stay
/// known. The number of rails stays: results refer to rails by number.
void join_hosts(Record& record, const std::vector<Host>& hosts) {
  for (const Host& host : hosts) {
    if (!record.nodes.empty() && record.nodes.front().host.rails.size() != host.rails.size())
      throw UsageError(
          fmt::format("--hosts: {} has {} rails, but the bring-up in this folder has {}: name another folder",
                      host.name, host.rails.size(), record.nodes.front().host.rails.size()));
    const auto at = std::find_if(record.nodes.begin(), record.nodes.end(),
                                 [&](const NodeRecord& node) { return is_same_host(node.host.name, host.name); });
    NodeRecord& node = at == record.nodes.end() ? record.nodes.emplace_back() : *at;
    node.host = host;
  }
}

/// By the names that are printed: of the hosts file, also with its user, or a host's own.
std::vector<unsigned> nodes_named(const Record& record, const std::vector<std::string>& names) {
  std::vector<unsigned> numbers;
  std::vector<std::string> known, own;
  for (const NodeRecord& node : record.nodes) {
    known.push_back(node.host.name);
    own.push_back(is_address(node.host.name) && node.facts ? node.facts->host : node.host.name);
  }
  for (const std::string& list : names)
    for (const std::string& login : names_in(list)) {
      Host asked;
      const std::string name = set_login(asked, login).empty() ? asked.name : login;
      auto at = host_named(known, name);
      if (!at && std::ranges::count(own, name) > 1)
        throw UsageError(
            fmt::format("--retest: several nodes have the name {}; write the one in the hosts file", name));
      if (!at) at = host_named(own, name);
      if (!at) {
        std::vector<std::string> all = known;
        all.insert(all.end(), own.begin(), own.end());
        throw UsageError(fmt::format("--retest: no node {}{}", name, did_you_mean(name, all)));
      }
      const auto number = static_cast<unsigned>(*at);
      if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
    }
  return numbers;
}

/// Text of a configuration, with everything that it extends. Throws UsageError where a run would refuse it.
std::string configuration(const std::string& file, const std::string& job_file) {
  PlanOptions options;
  options.config_file = system::find_shipped(file);
  if (!job_file.empty()) options.job_file = system::find_shipped(job_file);
  make_plan(options);
  Diagnostics problems;
  std::string text = config::to_yaml(config::load_layers(options.config_file, {}, problems));
  problems.throw_if_any();
  return text;
}

/// The nodes' own measurements. In a resumed session, newly given options count.
void set_tests(Measuring& measuring, const HostsArguments& given, bool first) {
  if (!given.at.empty() && (is_object_path(given.at) || given.at.front() != '/'))
    throw UsageError("--at: must be an absolute path of a folder, as in /scratch");
  if (!given.job.empty()) {
    const std::string file = system::find_shipped(given.job);
    measuring.paths = paths_of(file);
    measuring.job = file_text(file);
  }
  if (!given.at.empty()) measuring.at = given.at;
  if (!measuring.at.empty() && measuring.job.empty())
    throw UsageError("--at: needs --job, which says what to measure there");
  if (!measuring.at.empty() &&
      std::find(measuring.paths.begin(), measuring.paths.end(), measuring.at) == measuring.paths.end())
    measuring.paths.push_back(measuring.at);
  measuring.pairs_only = measuring.pairs_only || given.pairs_only;
  measuring.no_rdma = measuring.no_rdma || given.no_rdma;
  if (first || !given.node_tests.empty())
    measuring.node_tests = configuration(given.node_tests.empty() ? kNodeTests : given.node_tests, given.job);
  if (first || !given.group_tests.empty())
    measuring.groups = configuration(given.group_tests.empty() ? kGroupTests : given.group_tests, "");
}

/// Stored commands and addresses that the command line did not repeat. They are not trusted where another user may have
/// written the record.
std::vector<std::string> unsaid(const Record& kept, const HostsArguments& given) {
  const Measuring& measuring = kept.measuring;
  std::vector<std::string> options;
  const auto want = [&](bool has, const std::string& now, const char* option) {
    if (has && now.empty()) options.emplace_back(option);
  };
  want(true, given.hosts, "--hosts");
  want(!kept.launch.empty(), given.launch, "--launch");
  want(!kept.remote.empty(), given.remote, "--remote");
  want(!measuring.job.empty() || !measuring.paths.empty(), given.job, "--job");
  want(!measuring.at.empty(), given.at, "--at");
  if (given.pairs_only) return options;
  want(measuring.node_tests != configuration(kNodeTests, given.job), given.node_tests, "--node-tests");
  want(measuring.groups != configuration(kGroupTests, ""), given.group_tests, "--group-tests");
  return options;
}

/// A session resumes with its stored settings only where no other user can have written them. That is the original
/// folder, not a copy. Throws UsageError.
void refuse_foreign(const Record& kept, const std::vector<Host>& hosts, const HostsArguments& given) {
  std::string foreign = system::foreign_writer_within(given.out);
  if (foreign.empty() && kept.place != system::folder_place(given.out)) foreign = "it is a copy";
  if (foreign.empty()) return;
  if (const std::vector<std::string> options = unsaid(kept, given); !options.empty())
    throw UsageError(fmt::format("{}: say {} again: {}", given.out, join(options), foreign));
  if (!given.drain.empty())
    throw UsageError(fmt::format("{}: --drain would run commands from it: {}", given.out, foreign));
  for (const NodeRecord& node : kept.nodes)
    if (std::none_of(hosts.begin(), hosts.end(),
                     [&](const Host& host) { return is_same_host(host.name, node.host.name); }))
      throw UsageError(
          fmt::format("{}: {} is in it, and not in {}: {}", given.out, node.host.name, given.hosts, foreign));
}

Measuring measuring_of(const HostsArguments& given, std::size_t nodes) {
  Measuring measuring;
  measuring.time_s = time_option("--time", given.time, "1s");
  if (measuring.time_s < kLeastTime_s || measuring.time_s > kMostTime_s)
    throw UsageError(fmt::format("--time: '{}' must be from 1ms to 1h", given.time));
  measuring.streams = given.streams;
  measuring.search.most_rounds = given.most_rounds;
  measuring.search.every_link = given.every_link || nodes <= kEveryLink;
  measuring.search.seed = given.seed.value_or(1);
  return measuring;
}

/// The search goes on as it began: all sessions count together. Throws UsageError on an option that would change it.
void refuse_changes(const Measuring& kept, const HostsArguments& given, const std::vector<std::string>& command) {
  const auto says = [&](const std::string& option) {
    return std::ranges::any_of(
        command, [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
  };
  const auto keep = [&](const char* option, const auto& now, const auto& before, const std::string& text) {
    if (says(option) && now != before)
      throw UsageError(fmt::format(
          "{0}: this bring-up began with {0} {1}, and goes on with that; leave it out, or name another folder", option,
          text));
  };
  const SearchOptions& search = kept.search;
  keep("--time", time_option("--time", given.time, "1s"), kept.time_s, exact_quantity(kept.time_s, Dimension::seconds));
  keep("--streams", given.streams, kept.streams, std::to_string(kept.streams));
  keep("--seed", given.seed.value_or(1), search.seed, std::to_string(search.seed));
  keep("--most-rounds", given.most_rounds, search.most_rounds, std::to_string(search.most_rounds));
  if (given.every_link && !search.every_link)
    throw UsageError("--every-link: this bring-up began without it; leave it out, or name another folder");
}

/// The command that continues this bring-up, but for --resume or --retest.
std::string same_again(const HostsArguments& given) { return "headrace bringup --out " + shell_word(given.out); }

bool goes_on(const HostsArguments& given) { return given.resume || !given.retest.empty(); }

/// The record of an earlier session; nothing where this is the first. Throws UsageError if it cannot continue.
std::optional<Record> earlier(const HostsArguments& given) {
  const auto folder = MarkedFolder::find(given.out);
  if (!folder || !folder->folder().look(kFile)) {
    if (goes_on(given))
      throw UsageError(fmt::format("{}: holds no bring-up to resume; leave out --resume and --retest", given.out));
    return std::nullopt;
  }
  if (!goes_on(given))
    throw UsageError(
        fmt::format("{}: a bring-up is there: --resume goes on with it, --retest NODE pairs repaired nodes "
                    "again; or name another folder",
                    given.out));
  const std::string file = fmt::format("{}/{}", given.out, kFile);
  Record record = record_from(folder->folder().read(kFile, std::size_t{1} << 30), file);
  if (!record.simulated.empty()) throw UsageError(file + ": this fleet was simulated, and has no hosts to measure");
  refuse_changed(*folder);
  return record;
}

/// As a later command can give them; "" of the shell's pipes (<(...), /dev/stdin), which are read once.
std::string lasting_hosts(const std::string& hosts) {
  return hosts.starts_with("/dev/") || hosts.starts_with("/proc/") ? "" : hosts;
}

Record record_of(const HostsArguments& given, const std::vector<std::string>& command) {
  check_launch(given.launch);
  std::optional<Record> before = earlier(given);
  const std::vector<Host> hosts = given.hosts.empty() ? std::vector<Host>() : read_hosts(given.hosts);
  if (before) refuse_foreign(*before, hosts, given);
  if (before) refuse_changes(before->measuring, given, command);
  Record record = before ? std::move(*before) : Record();
  if (hosts.empty() && !before) throw UsageError("bringup: --hosts FILE is needed: a line for each host");
  join_hosts(record, hosts);
  if (!given.hosts.empty()) record.hosts_file = lasting_hosts(given.hosts);
  if (!before) record.measuring = measuring_of(given, record.nodes.size());
  set_tests(record.measuring, given, !before);
  if (!given.launch.empty()) record.launch = given.launch;
  if (!given.remote.empty()) record.remote = given.remote;
  record.again = same_again(given);
  if (record.nodes.size() < 2)
    throw UsageError(fmt::format("bringup: at least two hosts are needed, as it measures pairs; {} has {}",
                                 given.hosts.empty() ? record.hosts_file : given.hosts,
                                 record.nodes.empty() ? "none" : "only " + record.nodes.front().host.name));
  return record;
}

/// An administrator may have drained these nodes for another reason.
void leave_to_user(const Record& record, const Commands& commands) {
  std::vector<std::string> names;
  for (const NodeRecord& node : record.nodes)
    if (node.state == NodeState::retested && !node.taken_out) names.push_back(node.host.name);
  for (const std::string& command : commands.resume_others)
    print_stderr_line(Text::format(
        "--drain: {} passed, but this bring-up did not drain it, so it is not resumed. If nothing else is wrong: {}",
        compressed(names), command));
}

/// Runs the commands that are otherwise only printed, and resumes only nodes that it drained. Too many at once are
/// refused: then something else is wrong, and an empty cluster would be worse. Returns whether all of them succeeded.
bool drain(Record& record, const std::string& word) {
  const Commands commands = commands_for(record, word == "slurm" ? Scheduler::slurm : Scheduler::kubernetes);
  const auto most =
      std::max<std::size_t>(1, static_cast<std::size_t>(kMostDrained * static_cast<double>(record.nodes.size())));
  if (commands.nodes.size() > most) {
    print_stderr_line(Text::format(
        "--drain: {} of {} nodes are bad or unreachable, and at most {} are taken out by this; run the commands "
        "yourself if that is right",
        commands.nodes.size(), record.nodes.size(), most));
    return false;
  }
  leave_to_user(record, commands);
  bool all = true;
  for (const auto& some : {commands.drain, commands.resume})
    for (const std::string& command : some) {
      const int status = std::system(("{ " + command + "; } >&2").c_str());  // standard output is the verdict's
      if (status == 0) continue;
      all = false;
      print_stderr_line(Text::format("--drain: this failed: {}", command));
    }
  if (!all) return false;
  for (NodeRecord& node : record.nodes)
    if (node.state == NodeState::retested && std::exchange(node.taken_out, false)) node.state = NodeState::accepted;
  for (const unsigned node : commands.nodes) {
    record.nodes[node].state = NodeState::drained;
    record.nodes[node].taken_out = true;
  }
  return true;
}

}  // namespace

int bringup_again(const HostsArguments& given, const std::string& format, const Shared& shared) {
  const std::string file = fmt::format("{}/{}", given.out, kFile);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw UsageError("bringup: --hosts FILE is needed: a line for each host; or --simulate NODES");
  Record record = concluded_from(file_text(file, std::size_t{1} << 30), file);
  if (record.simulated.empty()) record.again = same_again(given);
  if (format == "json")
    print_document(record_json(record));
  else {
    const std::string when = record.sessions.empty() ? "" : record.sessions.back().started_utc;
    if (when.size() > 16) print_line(Text::format("Result of {} {} UTC.", when.substr(0, 10), when.substr(11, 5)));
    print(bringup_text(record, given.out, "", Terminal(stdout, shared)));
  }
  return exit_code(record.word, record.signal);
}

int bringup_hosts(const HostsArguments& given, const Shared& shared) {
  if (given.out.empty()) throw UsageError("bringup: --out DIR is needed, a folder for the results");
  if (const unsigned copies = ranks::launched().size; copies > 1)
    throw UsageError(
        fmt::format("bringup: it starts its agents itself, and was started {} times: start it once, as in "
                    "mpirun -n 1 or srun -n 1",
                    copies));
  Record record = record_of(given, shared.command);
  Start start;
  start.commands = commands(record);
  start.start_s = time_option("--start-timeout", given.start, "30s");
  start.retest = nodes_named(record, given.retest);
  if (given.dry_run) {
    topologies_of(record);
    print(dry_run_text(record, start, agents::why_not_together(Backends()), Terminal(stdout, shared)));
    return 0;
  }
  BringupFolder folder(given.out, !given.no_report);
  if (!record.measuring.job.empty()) start.job_file = folder.keep_job(record.measuring.job);
  record.place = system::folder_place(given.out);
  catch_signals();
  start.signal = [] { return stop_signal.load(); };
  start.keep = [&](const Record& now) { folder.keep(now); };
  {
    const std::unique_ptr<Audience> audience = make_bringup_progress(shared);
    bring_up(record, start, *audience);
  }
  if (!given.drain.empty() && record.signal == 0 && !drain(record, given.drain) && exit_code(record.word) == 0) {
    record.word = Outcome::error;
    record.sentence += " What --drain runs failed.";
  }
  return folder.finish(record, given.format, shared);
}

}  // namespace headrace::cli
