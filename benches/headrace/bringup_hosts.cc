#include "benches/headrace/bringup_hosts.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "benches/headrace/bringup_folder.h"
#include "benches/headrace/bringup_progress.h"
#include "benches/headrace/bringup_text.h"
#include "benches/headrace/console.h"
#include "harness/base/diagnostics.h"
#include "harness/base/escape.h"
#include "harness/bringup/bring_up.h"
#include "harness/bringup/hand_over.h"
#include "harness/engine/engine.h"
#include "harness/files/marked_folder.h"
#include "harness/requirements/job.h"
#include "harness/results/stored_verdict.h"
#include "harness/session/supervisor.h"
#include "harness/system/installation.h"

namespace headrace::cli {
namespace {

using namespace bringup;

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

std::string launcher(const HostsArguments& given) {
  if (!given.launch.empty()) {
    if (given.launch.find("{host}") == given.launch.npos)
      throw UsageError("--launch: {host} must stand where the host's name goes, as in 'ssh {host}'");
    return given.launch;
  }
  // In a job's own allocation its launcher needs no keys, and keeps to the job's limits.
  if (std::getenv("SLURM_JOB_ID") != nullptr) return "srun --overlap --nodes=1 --ntasks=1 --nodelist={host}";
  return "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 {host}";
}

std::vector<std::string> commands(const Record& record, const HostsArguments& given) {
  const std::string remote = given.remote.empty() ? shell_word(system::installation().binary) : given.remote;
  std::vector<std::string> all;
  for (const NodeRecord& node : record.nodes) {
    std::string command = record.launch;
    for (std::size_t at = 0; (at = command.find("{host}", at)) != command.npos;) {
      const std::string name = shell_word(node.host.name);
      command.replace(at, 6, name);
      at += name.size();
    }
    all.push_back(command + " " + remote + " bringup --agent");
  }
  return all;
}

/// Paths of the job that every host must have; what lies in an object store is no path.
std::vector<std::string> paths_of(const std::string& job_file) {
  std::vector<std::string> paths;
  if (job_file.empty()) return paths;
  const requirements::Job job = requirements::load_job(job_file);
  if (!job.dataset.path.empty() && job.dataset.path.find("://") == std::string::npos) paths.push_back(job.dataset.path);
  if (job.local_cache && !job.local_cache->path.empty()) paths.push_back(job.local_cache->path);
  return paths;
}

/// The nodes of a hosts file, as an earlier record knows them where it does; new ones join, absent ones stay known.
void join_hosts(Record& record, const std::vector<Host>& hosts) {
  for (const Host& host : hosts) {
    const auto at = std::find_if(record.nodes.begin(), record.nodes.end(),
                                 [&](const NodeRecord& node) { return node.host.name == host.name; });
    NodeRecord& node = at == record.nodes.end() ? record.nodes.emplace_back() : *at;
    node.host = host;
  }
}

std::vector<unsigned> nodes_named(const Record& record, const std::vector<std::string>& names) {
  std::vector<unsigned> numbers;
  std::vector<std::string> known;
  for (const NodeRecord& node : record.nodes) known.push_back(node.host.name);
  for (const std::string& name : names) {
    const auto at = std::find(known.begin(), known.end(), name);
    if (at == known.end()) throw UsageError(fmt::format("--retest: no node {}{}", name, did_you_mean(name, known)));
    const auto number = static_cast<unsigned>(at - known.begin());
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) numbers.push_back(number);
  }
  return numbers;
}

Measuring measuring_of(const HostsArguments& given, std::size_t nodes) {
  Measuring measuring;
  measuring.time_s = time_option("--time", given.time, "1s");
  measuring.streams = given.streams;
  measuring.paths = paths_of(given.job);
  measuring.search.most_rounds = given.most_rounds;
  measuring.search.every_link = given.every_link || nodes <= kEveryLink;
  measuring.search.seed = given.seed.value_or(1);
  return measuring;
}

/// What goes on with this bring-up, but for --resume or --retest.
std::string same_again(const HostsArguments& given) {
  std::string command = "headrace bringup --out " + shell_word(given.out);
  if (!given.launch.empty()) command += " --launch " + shell_word(given.launch);
  if (!given.remote.empty()) command += " --remote " + shell_word(given.remote);
  return command;
}

bool goes_on(const HostsArguments& given) { return given.resume || !given.retest.empty(); }

/// What the folder holds of an earlier session; nothing where this is the first.
std::optional<Record> earlier(const HostsArguments& given) {
  std::string text;
  if (const auto folder = MarkedFolder::find(given.out)) text = folder->folder().read(kFile, std::size_t{1} << 30);
  if (text.empty()) {
    if (goes_on(given))
      throw UsageError(
          fmt::format("{}: no bring-up is there that could go on; leave --resume and --retest out", given.out));
    return std::nullopt;
  }
  if (!goes_on(given))
    throw UsageError(
        fmt::format("{}: a bring-up is there: --resume goes on with it, --retest NODE pairs repaired nodes "
                    "again; or name another folder",
                    given.out));
  try {
    Record record = record_from(text);
    if (!record.simulated.empty()) throw UsageError("a made-up fleet, whose hosts are nowhere");
    return record;
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}/{}: {}", given.out, kFile, e.what()));
  }
}

Record record_of(const HostsArguments& given) {
  std::optional<Record> before = earlier(given);
  const std::vector<Host> hosts = given.hosts.empty() ? std::vector<Host>() : read_hosts(given.hosts);
  Record record = before ? std::move(*before) : Record();
  if (hosts.empty() && !before) throw UsageError("bringup: --hosts FILE is needed: a line for each host");
  join_hosts(record, hosts);
  if (!given.hosts.empty()) record.hosts_file = given.hosts;
  if (!before) record.measuring = measuring_of(given, record.nodes.size());
  if (before && !given.job.empty()) record.measuring.paths = paths_of(given.job);
  record.launch = launcher(given);  // never what a file says: it is run
  record.again = same_again(given);
  if (record.nodes.size() < 2) throw UsageError("bringup: two hosts are needed at least: what is measured is pairs");
  return record;
}

/// Runs the commands that are told else. Too many at once are refused: then something else is wrong, and an empty cluster
/// would be worse.
void drain(Record& record, const std::string& word) {
  const Commands commands = commands_for(record, word == "slurm" ? Scheduler::slurm : Scheduler::kubernetes);
  const auto most =
      std::max<std::size_t>(1, static_cast<std::size_t>(kMostDrained * static_cast<double>(record.nodes.size())));
  if (commands.nodes.size() > most)
    return tell_line(
        Text::format("--drain: {} of {} nodes are bad, and at most {} are taken out by this; run the commands "
                     "yourself if that is right",
                     commands.nodes.size(), record.nodes.size(), most));
  bool all = true;
  for (const auto& some : {commands.drain, commands.resume})
    for (const std::string& command : some) {
      const int status = std::system(command.c_str());
      if (status == 0) continue;
      all = false;
      tell_line(Text::format("--drain: this failed: {}", command));
    }
  if (!all) return;
  for (const unsigned node : commands.nodes) record.nodes[node].state = NodeState::drained;
  for (NodeRecord& node : record.nodes)
    if (node.state == NodeState::retested) node.state = NodeState::accepted;
}

}  // namespace

int bringup_hosts(const HostsArguments& given, const Shared& shared) {
  if (given.out.empty()) throw UsageError("bringup: --out DIR is needed: where what was measured is kept");
  Record record = record_of(given);
  Start start;
  start.commands = commands(record, given);
  start.start_s = time_option("--start-timeout", given.start, "30s");
  start.retest = nodes_named(record, given.retest);
  if (given.dry_run) {
    std::vector<Host> hosts_now;
    for (const NodeRecord& node : record.nodes) hosts_now.push_back(node.host);
    topology_of(hosts_now, record.switches);
    print(dry_run_text(record, start, Terminal(stdout, shared)));
    return 0;
  }
  BringupFolder folder(given.out, !given.no_report);
  catch_signals();
  start.signal = [] { return stop_signal.load(); };
  start.keep = [&](const Record& now) { folder.keep(now); };
  {
    const std::unique_ptr<Audience> audience = make_bringup_progress(shared);
    bring_up(record, start, *audience);
  }
  if (!given.drain.empty() && record.signal == 0) drain(record, given.drain);
  return folder.finish(record, given.format, shared);
}

}  // namespace headrace::cli
