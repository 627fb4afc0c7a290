// headrace bringup: finds the bad parts of a cluster by adaptive pairs of nodes; on real hosts or invented fleets.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "benches/headrace/bringup_folder.h"
#include "benches/headrace/bringup_hosts.h"
#include "benches/headrace/compare_options.h"
#include "benches/headrace/console.h"
#include "benches/headrace/verb.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/bringup/agents/agent.h"
#include "harness/bringup/simulation/simulated_record.h"
#include "harness/bringup/simulation/simulation.h"
#include "harness/judge/verdict/word.h"
#include "harness/results/json_text.h"

namespace headrace::cli {
namespace {

// headrace bringup --simulate: how surely, and how soon, adaptive pairs find the bad parts of a fleet.

struct SimulatedArguments {
  unsigned nodes = 0, nodes_per_switch = 32, switches = 0, rails = 1, fleets = 20, most_rounds = 20;
  std::optional<std::uint64_t> seed;
  std::string bad = "2%", loss = "6%", links = "0", noise = "2%", transient = "2%", transient_loss = "15%", heavy = "0";
  std::string prior_bad = "2%", prior_noise = "2%", prior_transient = "2%", format = "text", out;
  bool every_link = false, no_report = false;
};

using namespace bringup;

/// Like share_of(), and none at all.
double any_share(const std::string& option, const std::string& text) {
  return text == "0" || text == "0%" ? 0 : share_of(option, text, 0);
}

FleetPlan plan_of(const SimulatedArguments& given) {
  FleetPlan plan;
  plan.nodes = given.nodes;
  plan.nodes_per_switch = given.nodes_per_switch;
  plan.rails = given.rails;
  plan.bad = any_share("--bad", given.bad);
  plan.loss = any_share("--loss", given.loss);
  if (plan.bad > 0.3) throw UsageError("--bad: must be 0..30%: what most nodes reach is the usual rate");
  if (plan.loss < kDelta)
    throw UsageError(fmt::format("--loss: must be {:.0f}%..100%: less is no fault", 100 * kDelta));
  plan.bad_switches = given.switches;
  plan.bad_links = any_share("--links", given.links);
  plan.noise = any_share("--noise", given.noise);
  plan.transient = any_share("--transient", given.transient);
  plan.transient_loss = any_share("--transient-loss", given.transient_loss);
  plan.heavy = any_share("--heavy", given.heavy);
  plan.search.most_rounds = given.most_rounds;
  plan.search.every_link = given.every_link || given.nodes <= kEveryLink;
  plan.search.prior.bad_ends = std::clamp(any_share("--prior-bad", given.prior_bad), 1e-4, 0.5);
  plan.search.prior.noise = std::max(any_share("--prior-noise", given.prior_noise), 1e-3);
  plan.search.prior.transient = std::clamp(any_share("--prior-transient", given.prior_transient), 1e-4, 0.5);
  const unsigned count = given.nodes_per_switch > 0 ? (given.nodes - 1) / given.nodes_per_switch + 1 : 0;
  if (given.switches > count / 2)
    throw UsageError(fmt::format("--switches: at most half of the {} there are may be bad", count));
  return plan;
}

/// With `out` one fleet, brought up as real hosts are, into that folder.
int bringup_simulated(const SimulatedArguments& given, const Shared& shared) {
  const FleetPlan plan = plan_of(given);
  if (!given.out.empty()) {
    BringupFolder folder(given.out, !given.no_report);
    Record record = simulated_record(plan, given.seed.value_or(1), [&](const Record& now) { folder.keep(now); });
    return folder.finish(record, given.format, shared);
  }
  const std::vector<SimulatedFleet> fleets = simulate_fleets(plan, given.fleets, given.seed.value_or(1));
  const SimulationSummary sum = summary_of(fleets, plan.search);
  if (given.format == "json") {
    print_document(results::json_text(
        {{"kind", "headrace.bringup_simulation"},
         {"word", sum.word},
         {"exit_code", exit_code(sum.word)},
         {"nodes", plan.nodes},
         {"fleets", given.fleets},
         {"seed", given.seed.value_or(1)},
         {"alpha", plan.search.alpha},
         {"beta", plan.search.beta},
         {"delta", kDelta},
         {"rounds", {{"mean", sum.mean_rounds}, {"most", sum.most_rounds}}},
         {"pairs_mean", sum.mean_pairs},
         {"bad_nodes",
          {{"there", sum.bad_nodes}, {"missed", sum.missed_nodes}, {"undecided_of_all", sum.undecided_nodes}}},
         {"healthy_accused",
          {{"nodes", sum.false_nodes},
           {"switches", sum.false_switches},
           {"links", sum.false_links},
           {"fleets", sum.fleets_with_false}}},
         {"switches", {{"bad", sum.bad_switches}, {"found", sum.found_switches}}},
         {"links", {{"bad_that_met", sum.bad_links_met}, {"found", sum.found_links}, {"missed", sum.missed_links}}},
         {"slowest_decision_s", sum.slowest_decision_s}}));
    return exit_code(sum.word);
  }
  print_line(Text::format("{} simulated fleet{} of {} nodes, seed {}", given.fleets, given.fleets == 1 ? "" : "s",
                          plan.nodes, given.seed.value_or(1)));
  print_line(Text::format("rounds              {:.1f} on average, {} at most; {:.0f} pairs", sum.mean_rounds,
                          sum.most_rounds, sum.mean_pairs));
  print_line(Text::format("healthy accused     {} nodes, {} switches, {} links; in {} of {} fleets", sum.false_nodes,
                          sum.false_switches, sum.false_links, sum.fleets_with_false, given.fleets));
  print_line(Text::format("bad nodes           {}; missed {} ({:.3g} %)", sum.bad_nodes, sum.missed_nodes,
                          sum.bad_nodes > 0 ? 100.0 * sum.missed_nodes / sum.bad_nodes : 0.0));
  print_line(Text::format("undecided           {} nodes of all fleets", sum.undecided_nodes));
  if (sum.bad_switches > 0)
    print_line(Text::format("bad switches        {}; found {}", sum.bad_switches, sum.found_switches));
  if (sum.bad_links_met > 0)
    print_line(Text::format("bad links that met  {}; found {}, missed {}", sum.bad_links_met, sum.found_links,
                            sum.missed_links));
  print_line(Text::format("slowest decision    {} of processor time",
                          format_quantity(sum.slowest_decision_s, Dimension::seconds)));
  print_line(Text::format("VERDICT {} fleets={} false={} missed={} undecided={} exit={}", to_string(sum.word),
                          given.fleets, sum.fleets_with_false, sum.missed_nodes, sum.undecided_nodes,
                          exit_code(sum.word)));
  return exit_code(sum.word);
}

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

/// The first option or word of a command line that a result shown again cannot obey.
std::string unused_of(const std::vector<std::string>& command) {
  for (std::size_t i = 1; i < command.size(); ++i) {
    const std::string &word = command[i], name = word.substr(0, word.find('='));
    const auto is_one = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (word.empty()) return "HOSTS";
    if (is_one({"--out", "--format", "--color", "--progress", "--exit-map"}))
      i += name == word ? 1 : 0;
    else if (word.front() == '-' && word.find_first_not_of("vq", 1) != word.npos && !is_one({"--json", "--no-report"}))
      return name;
  }
  return "";
}

int bringup_verb(BringupArguments& given, const Shared& shared) {
  if (given.agent) return serve_as_agent();
  if (given.simulated.nodes > 0) {
    if (!given.hosts.hosts.empty()) throw UsageError("bringup: --hosts or --simulate, not both");
    given.simulated.seed = given.seed;
    given.simulated.most_rounds = given.most_rounds;
    given.simulated.format = given.format;
    given.simulated.out = given.hosts.out;
    given.simulated.every_link = given.hosts.every_link;
    given.simulated.no_report = given.hosts.no_report;
    return bringup_simulated(given.simulated, shared);
  }
  if (!given.positional.empty()) {
    if (!given.hosts.hosts.empty()) throw UsageError("bringup: HOSTS or --hosts, not both");
    given.hosts.hosts = given.positional;
  }
  if (given.hosts.hosts.empty() && !given.hosts.resume && given.hosts.retest.empty()) {
    if (const std::string unused = given.hosts.out.empty() ? "" : unused_of(shared.command); !unused.empty())
      throw UsageError(fmt::format(
          "bringup: {}: hosts are missing: --hosts FILE or HOSTS; is a variable of the shell unset?", unused));
    if (!given.hosts.out.empty()) return bringup_again(given.hosts, given.format, shared);
    throw UsageError("bringup: --hosts FILE is needed: a line for each host; or --simulate NODES");
  }
  given.hosts.seed = given.seed;
  given.hosts.most_rounds = given.most_rounds;
  given.hosts.format = given.format;
  return bringup_hosts(given.hosts, shared);
}

void add_hosts_options(Verb& verb, HostsArguments& a) {
  verb.group("Hosts");
  verb.option("-w,--hosts FILE", a.hosts, "A line per host, 'node01 rack=r1 rail=eth1,eth2'; or a list, 'node[001-4]'");
  verb.option("--launch COMMAND", a.launch, "Command that starts another on {host} (default: ssh; srun under Slurm)");
  verb.group("Tests");
  verb.option("--job JOB", a.job, "All hosts must have the paths of this job; with --at, each measures its accesses");
  verb.option("--at DIR", a.at, "Folder on the job's storage; each host makes and removes its data below it");
  verb.flag("--pairs-only", a.pairs_only, "Skip the measurements of single nodes and of groups");
  verb.group("Results and next steps");
  verb.option("--out DIR", a.out, "Folder for bringup.json and report.html, written after every round");
  verb.flag("--no-report", a.no_report, "Do not draw report.html");
  verb.flag("--resume", a.resume, "Continue the bring-up in --out DIR; new hosts of --hosts join");
  verb.option("--retest NODE", a.retest, "Pair these with accepted nodes again: they were repaired");
  verb.option("--drain WORD", a.drain,
              "Drain bad nodes in slurm or kubernetes, and resume those that passed a retest (default: only print the "
              "commands)")
      .one_of({"slurm", "kubernetes"});
  verb.flag("--dry-run", a.dry_run, "Show what would be started, and how long it may take");
  verb.group("Details of the tests", true);
  verb.option("--node-tests FILE", a.node_tests,
              "Configuration of the tests of each node, all at once (default: configs/bring-up.yaml)");
  verb.option("--group-tests FILE", a.group_tests,
              "Configuration of the tests of groups of nodes by mpirun (default: configs/bring-up-groups.yaml)");
  verb.flag("--no-rdma", a.no_rdma,
            "Measure pairs only by TCP; default: also by RDMA, where most nodes have it (rdma=none in the hosts file "
            "excludes a host)");
  verb.flag("--every-link", a.every_link,
            "Measure each pair of nodes, in any number of rounds (default for up to 16 nodes)");
  verb.option("--time TIME", a.time, "Time of each direction of a pair").shows_default();
  verb.option("--streams COUNT", a.streams, "Connections of a pair, a thread each").between(1, 32).shows_default();
  verb.option("--remote COMMAND", a.remote, "Path of headrace on the hosts (default: the path of this one)");
  verb.option("--start-timeout TIME", a.start, "How long to wait for a host's first answer").shows_default();
}

void add_simulated_options(Verb& verb, SimulatedArguments& a) {
  verb.group("Simulated fleets", true);
  verb.option("--simulate NODES", a.nodes,
              "Simulate fleets of NODES nodes, seeded by --seed, and search them as real ones")
      .between(4, 20000);
  verb.option("--fleets COUNT", a.fleets, "How many").between(1, 10000).shows_default();
  verb.option("--bad SHARE", a.bad, "Share of slow nodes").shows_default();
  verb.option("--loss SHARE", a.loss, "Throughput that each injected fault costs").shows_default();
  verb.option("--switches COUNT", a.switches, "Switches with slow uplinks").shows_default();
  verb.option("--nodes-per-switch COUNT", a.nodes_per_switch, "Nodes below each switch; 0: topology unknown")
      .shows_default();
  verb.option("--links SHARE", a.links, "Share of slow links between two nodes").shows_default();
  verb.option("--rails COUNT", a.rails, "NICs of a node, each measured on its own").between(1, 16).shows_default();
  verb.option("--noise SHARE", a.noise, "Standard deviation of one rate").shows_default();
  verb.option("--heavy SHARE", a.heavy, "Share of rates with four times that noise").shows_default();
  verb.option("--transient SHARE", a.transient, "Share of transient low rates").shows_default();
  verb.option("--transient-loss SHARE", a.transient_loss, "How low those are").shows_default();
  verb.option("--prior-bad SHARE", a.prior_bad, "The share of bad nodes that the search assumes").shows_default();
  verb.option("--prior-noise SHARE", a.prior_noise, "The noise that the search assumes").shows_default();
  verb.option("--prior-transient SHARE", a.prior_transient, "The share of transient low rates that the search assumes")
      .shows_default();
}

void add_bringup(Verbs& verbs, Shared& shared) {
  Verb verb = verbs.add("bringup", "Find the bad nodes, NICs, links and switches of a cluster");
  auto a = std::make_shared<BringupArguments>();
  verb.option("HOSTS", a->positional, "As --hosts");
  add_hosts_options(verb, a->hosts);
  verb.option("--seed NUMBER", a->seed, "The same seed gives the same decisions, and fleets (default 1)");
  verb.option("--most-rounds COUNT", a->most_rounds,
              "Stop after COUNT rounds, undecided or not; after half of them if only nodes are undecided")
      .between(1, 1000)
      .shows_default();
  verb.flag("--agent", a->agent, "Internal: run as the agent on a host");
  add_simulated_options(verb, a->simulated);
  verb.format(a->format, {"text", "json"}, "text or json");
  verb.example("headrace bringup --hosts hosts --out cluster --dry-run",
               "What would be started, and how long it takes");
  verb.example("headrace bringup --out cluster", "The result of a finished bring-up again");
  verb.does([&shared, a] { return bringup_verb(*a, shared); });
}

const RegisterVerb registered_bringup{86, add_bringup};

}  // namespace
}  // namespace headrace::cli
