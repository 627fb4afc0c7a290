#include "benches/headrace/bringup_simulated.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "benches/headrace/bringup_folder.h"
#include "benches/headrace/bringup_hosts.h"
#include "benches/headrace/console.h"
#include "benches/headrace/shares.h"
#include "harness/base/diagnostics.h"
#include "harness/base/units.h"
#include "harness/bringup/simulation/simulated_record.h"
#include "harness/bringup/simulation/simulation.h"
#include "harness/judge/verdict/word.h"
#include "harness/results/json_text.h"

namespace headrace::cli {
namespace {

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
  plan.search.prior.bad_ends = std::clamp(any_share("--prior-bad", given.prior_bad), 1e-4, 0.5);
  plan.search.prior.noise = std::max(any_share("--prior-noise", given.prior_noise), 1e-3);
  plan.search.prior.transient = std::clamp(any_share("--prior-transient", given.prior_transient), 1e-4, 0.5);
  const unsigned count = given.nodes_per_switch > 0 ? (given.nodes - 1) / given.nodes_per_switch + 1 : 0;
  if (given.switches > count / 2)
    throw UsageError(fmt::format("--switches: at most half of the {} there are may be bad", count));
  return plan;
}

}  // namespace

int bringup_simulated(const SimulatedArguments& given, const Shared& shared) {
  FleetPlan plan = plan_of(given);
  if (!given.out.empty()) {
    plan.search.every_link = plan.nodes <= kEveryLink;
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
         {"links", {{"bad_that_met", sum.bad_links_met}, {"found", sum.found_links}}},
         {"slowest_decision_s", sum.slowest_decision_s}}));
    return exit_code(sum.word);
  }
  print_line(Text::format("{} simulated fleet{} of {} nodes, seed {}", given.fleets, given.fleets == 1 ? "" : "s",
                          plan.nodes, given.seed.value_or(1)));
  print_line(Text::format("rounds              {:.1f} on average, {} at most; {:.0f} pairs", sum.mean_rounds,
                          sum.most_rounds, sum.mean_pairs));
  print_line(Text::format("healthy accused     {} nodes, {} switches, {} links; in {} of {} fleets", sum.false_nodes,
                          sum.false_switches, sum.false_links, sum.fleets_with_false, given.fleets));
  print_line(Text::format("bad nodes           {}; missed {} ({:.2g} %)", sum.bad_nodes, sum.missed_nodes,
                          sum.bad_nodes > 0 ? 100.0 * sum.missed_nodes / sum.bad_nodes : 0.0));
  print_line(Text::format("undecided           {} nodes of all fleets", sum.undecided_nodes));
  if (sum.bad_switches > 0)
    print_line(Text::format("bad switches        {}; found {}", sum.bad_switches, sum.found_switches));
  if (sum.bad_links_met > 0)
    print_line(Text::format("bad links that met  {}; found {}", sum.bad_links_met, sum.found_links));
  print_line(Text::format("slowest decision    {} of processor time",
                          format_quantity(sum.slowest_decision_s, Dimension::seconds)));
  print_line(Text::format("VERDICT {} fleets={} false={} missed={} undecided={} exit={}", to_string(sum.word),
                          given.fleets, sum.fleets_with_false, sum.missed_nodes, sum.undecided_nodes,
                          exit_code(sum.word)));
  return exit_code(sum.word);
}

}  // namespace headrace::cli
