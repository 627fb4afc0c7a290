// headrace bringup: finds what is bad in a cluster by adaptive pairs of its nodes; on real hosts, or on fleets made up.
#include <unistd.h>

#include "benches/headrace/bringup_hosts.h"
#include "benches/headrace/bringup_simulated.h"
#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/bringup/agents/agent.h"

namespace headrace::cli {
namespace {

struct BringupArguments {
  HostsArguments hosts;
  SimulatedArguments simulated;
  std::optional<std::uint64_t> seed;
  unsigned most_rounds = 20;
  std::string format = "text", positional;
  bool agent = false;
};

int serve_as_agent() {
  agents::serve_agent(STDIN_FILENO, [](const std::string& line) {
    print_document(line + "\n");
    delivered(0);
  });
  return 0;
}

int bringup_verb(BringupArguments& given, const Shared& shared) {
  if (given.agent) return serve_as_agent();
  if (given.simulated.nodes > 0) {
    if (!given.hosts.hosts.empty()) throw UsageError("bringup: --hosts or --simulate, not both");
    given.simulated.seed = given.seed;
    given.simulated.most_rounds = given.most_rounds;
    given.simulated.format = given.format;
    given.simulated.out = given.hosts.out;
    given.simulated.no_report = given.hosts.no_report;
    return bringup_simulated(given.simulated, shared);
  }
  if (!given.positional.empty()) {
    if (!given.hosts.hosts.empty()) throw UsageError("bringup: HOSTS or --hosts, not both");
    given.hosts.hosts = given.positional;
  }
  if (given.hosts.hosts.empty() && !given.hosts.resume && given.hosts.retest.empty()) {
    if (!given.hosts.out.empty()) return bringup_again(given.hosts, given.format, shared);
    throw UsageError("bringup: --hosts FILE is needed: a line for each host; or --simulate NODES");
  }
  given.hosts.seed = given.seed;
  given.hosts.most_rounds = given.most_rounds;
  given.hosts.format = given.format;
  return bringup_hosts(given.hosts, shared);
}

void add_hosts_options(Verb& verb, HostsArguments& a) {
  verb.option("-w,--hosts FILE", a.hosts,
              "Bring these up: a line per host, 'node01 rack=r1 switch=s1 rail=eth1,eth2 rdma=mlx5_0'; or a list: "
              "'node[001-004],gpu1'");
  verb.option("--job JOB", a.job, "All hosts must have the paths of this job; with --at, each measures what it does");
  verb.option(
      "--at DIR", a.at,
      "Folder on the job's storage, there on all hosts: each makes its data in a folder of its own below it, and "
      "removes it at the end");
  verb.option("--node-tests FILE", a.node_tests,
              "Configuration of what each node measures by itself, all at once (default: configs/bring-up.yaml)");
  verb.option("--group-tests FILE", a.group_tests,
              "Configuration of what groups of nodes measure by mpirun (default: configs/bring-up-groups.yaml)");
  verb.flag("--no-rdma", a.no_rdma,
            "Measure pairs by TCP alone; else also by RDMA, where most nodes have it (rdma=none in the hosts file: not "
            "there)");
  verb.flag("--pairs-only", a.pairs_only, "Leave out what nodes measure by themselves and what groups of them measure");
  verb.option(
      "--out DIR", a.out,
      "Keeps bringup.json and report.html there, written after every round; with --simulate those of one fleet");
  verb.flag("--no-report", a.no_report, "Do not draw report.html");
  verb.flag("--resume", a.resume, "Go on with what --out DIR holds; hosts that are new in --hosts join");
  verb.option("--retest NODE", a.retest, "Pair these with accepted nodes again: they were repaired");
  verb.option("--drain WORD", a.drain,
              "Take bad nodes out of slurm or kubernetes, and let those back in that passed a retest; else the "
              "commands are "
              "only told")
      .one_of({"slurm", "kubernetes"});
  verb.flag("--dry-run", a.dry_run, "Tell what would be started, and how long it may take");
  verb.flag("--every-link", a.every_link,
            "Measure each pair of nodes, however many rounds that takes; so it is up to 16 nodes");
  verb.option("--time TIME", a.time, "Of one way of a pair").shows_default();
  verb.option("--streams COUNT", a.streams, "Connections of a pair, a thread each").between(1, 32).shows_default();
  verb.option(
      "--launch COMMAND", a.launch,
      "How a command is started on a host (default: ssh; srun in a Slurm allocation), for a shell; {host} is the "
      "host's name, as in 'mpirun -n 1 --host {host}'");
  verb.option("--remote COMMAND", a.remote, "What headrace is called there (default: where this one lies)");
  verb.option("--start-timeout TIME", a.start, "For the first word from a host").shows_default();
}

void add_simulated_options(Verb& verb, SimulatedArguments& a) {
  verb.option("--simulate NODES", a.nodes,
              "Fleets of so many nodes, made up by --seed, searched by the product's own code")
      .between(4, 20000);
  verb.option("--fleets COUNT", a.fleets, "How many").between(1, 10000).shows_default();
  verb.option("--bad SHARE", a.bad, "Nodes that are slow with everybody").shows_default();
  verb.option("--loss SHARE", a.loss, "What whatever is bad loses of its rate").shows_default();
  verb.option("--switches COUNT", a.switches, "Switches whose ways out are slow").shows_default();
  verb.option("--nodes-per-switch COUNT", a.nodes_per_switch, "0: nobody knows of switches").shows_default();
  verb.option("--links SHARE", a.links, "Ways between two nodes that are slow").shows_default();
  verb.option("--rails COUNT", a.rails, "NICs of a node, each measured on its own").between(1, 16).shows_default();
  verb.option("--noise SHARE", a.noise, "Of one rate, normally distributed").shows_default();
  verb.option("--heavy SHARE", a.heavy, "Rates whose noise is four times as much").shows_default();
  verb.option("--transient SHARE", a.transient, "Rates that are low for once").shows_default();
  verb.option("--transient-loss SHARE", a.transient_loss, "And by how much").shows_default();
  verb.option("--prior-bad SHARE", a.prior_bad, "What the search takes for likely beforehand").shows_default();
  verb.option("--prior-noise SHARE", a.prior_noise, "Likewise of the noise").shows_default();
  verb.option("--prior-transient SHARE", a.prior_transient, "Likewise of rates that are low for once").shows_default();
}

void add_bringup(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("bringup", "Which nodes, NICs, links and switches of a cluster are bad, by adaptive pairs");
  auto a = std::make_shared<BringupArguments>();
  verb.option("HOSTS", a->positional, "As --hosts");
  add_hosts_options(verb, a->hosts);
  add_simulated_options(verb, a->simulated);
  verb.option("--seed NUMBER", a->seed, "The same seed gives the same decisions, and fleets (default 1)");
  verb.option("--most-rounds COUNT", a->most_rounds,
              "What is undecided then stays undecided; half as many where it is nodes alone, and no switch or link")
      .between(1, 1000)
      .shows_default();
  verb.flag("--agent", a->agent, "Be what a bring-up starts on each host: answers it on standard output");
  verb.format(a->format, {"text", "json"}, "text or json");
  verb.example("headrace bringup --hosts hosts --out cluster --dry-run",
               "What would be started on the hosts of this file, and how long it takes; then without --dry-run");
  verb.example("headrace bringup --out cluster", "The result of a finished bring-up again");
  verb.example("headrace bringup --simulate 200 --bad 2% --loss 10% --fleets 5",
               "Rounds, healthy nodes accused and bad ones missed, over five fleets");
  verb.does([&shared, a] { return bringup_verb(*a, shared); });
}

const RegisterVerb registered_bringup{86, add_bringup};

}  // namespace
}  // namespace headrace::cli
