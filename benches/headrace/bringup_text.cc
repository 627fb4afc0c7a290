#include "benches/headrace/bringup_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "benches/headrace/answer.h"
#include "harness/base/units.h"
#include "harness/bringup/blame/fault_words.h"
#include "harness/bringup/hand_over.h"
#include "harness/bringup/pair_round.h"
#include "harness/bringup/rails.h"

namespace headrace::cli {
namespace {

using namespace bringup;

constexpr std::size_t kMost = 40;   // of each kind; all are in bringup.json
constexpr std::size_t kCauses = 3;  // faults that the answer names

/// A line with its sign, and the next step below it.
Text entry(Outcome as, Ink ink, const Text& who, const Text& what, const std::string& fix, const Terminal& terminal) {
  Text out = in_lines(Text::format("{} {}  {}", terminal.paint(symbol(as, terminal.ascii()), ink),
                                   terminal.paint(who, ink), what),
                      terminal, 4) +
             "\n";
  if (!fix.empty()) out += Text::format("    {}\n", terminal.paint(in_lines(Text(fix), terminal, 4), Ink::faint));
  return out;
}

Text more(std::size_t count, const char* what) {
  return count > kMost ? Text::format("  {} more {}\n", count - kMost, what) : Text();
}

Text differences_text(const Record& record, const Terminal& terminal) {
  Text out;
  std::size_t count = 0;
  for (const NodeRecord& node : record.nodes)
    for (const Difference& one : node.differences)
      if (!one.fault && ++count <= kMost)
        out += terminal.paint(in_lines(Text::format("  {} differs  {}", node.host.name, one.reported), terminal, 4),
                              Ink::faint) +
               "\n";
  return out + more(count, "differences");
}

/// What nodes reached together: collectives, group by group; storage, by all of them at once.
Text groups_text(const Record& record, const Terminal& terminal) {
  Text out;
  std::size_t groups = 0;
  for (const GroupRun& run : record.sessions.back().groups) {
    if (run.phases.empty() && !run.values.empty() && ++groups <= kMost) {
      std::vector<std::string> names;
      for (const unsigned node : run.nodes) names.push_back(record.nodes[node].host.name);
      Text line = Text::format("{}{} of {}:", run.what, run.again ? " again" : "", compressed(names));
      for (const GroupValue& one : run.values)
        line += Text::format(" {} {};", one.point, format_in_unit(one.value, one.unit));
      out += in_lines(line, terminal, 4) + "\n";
    }
    for (const LoadPhase& one : run.phases)
      out += in_lines(Text::format("{} of {} nodes at once: {} each, {} in all, needs {}: {}", one.title, one.clients,
                                   format_in_unit(one.per_node, one.unit), format_in_unit(one.in_all, one.unit),
                                   format_in_unit(one.need, one.unit), one.outcome),
                      terminal, 4) +
             "\n";
  }
  return out + more(groups, "groups");
}

/// The commands to paste.
Text hand_over_text(const Record& record) {
  Text out;
  for (const Scheduler scheduler : {Scheduler::slurm, Scheduler::kubernetes}) {
    const Commands commands = commands_for(record, scheduler);
    for (const std::string& command : commands.drain) out += Text::format("drain    {}\n", command);
    for (const std::string& command : commands.all_resume())
      out += Text::format("resume   {}  # if it was drained\n", command);
  }
  return out.empty() ? out : "\n" + out;
}

/// "the link node2 to node4 is slow; " where no node is bad, but what joins them.
std::string bad_part(const Record& record) {
  const auto of_a_node = [](const NamedFault& one) { return one.of_a_node(); };
  if (record.faults.empty() || std::ranges::any_of(record.faults, of_a_node)) return "";
  const NamedFault& first = record.faults.front();
  return fmt::format("the {} is {}; ", first.title(), first.loss > 0 ? "slow" : "bad");
}

/// ", 35.9 MB/s", or the range; of too few nodes to judge one.
std::string rates_of_few(const Record& record) {
  std::vector<double> rates;
  for (const RoundRecord& round : record.sessions.back().rounds)
    for (const PairMeasured& one : round.pairs) rates.push_back(one.slower());
  if (rates.empty() || record.nodes.size() >= FaultWords::kFewestNodes) return "";
  const auto text = [](double rate) { return format_quantity(rate, Dimension::bytes_per_second); };
  const auto [least, most] = std::ranges::minmax(rates);
  return ", " + text(least) + (text(least) == text(most) ? "" : " to " + text(most));
}

Answer bringup_answer(const Record& record) {
  Answer all = answer_of(record.word, record.sentence);
  std::string bad;
  for (const auto& [state, nodes] : nodes_by_state(record))
    if (state != to_string(NodeState::accepted) && state != to_string(NodeState::retested))
      bad += fmt::format("; {}: {}", word_of(state), nodes);
  const std::size_t good = record.nodes_called("accepted") + record.nodes_called("retested");
  const std::string part = bad_part(record);
  if (good > 0 && !part.empty() && good == record.nodes.size())
    all.sentence = Text::format("{}all {} nodes are healthy.", part, good);
  else if (good > 0)
    all.sentence =
        Text::format("{}{} of {} nodes {} healthy{}.", part, good, record.nodes.size(), good == 1 ? "is" : "are", bad);
  if (!record.faults.empty()) all.cause = {};
  for (std::size_t i = 0; i < record.faults.size() && i < kCauses; ++i)
    all.causes.push_back(Text::format("{}: {}", record.faults[i].name(), record.faults[i].text));
  if (record.faults.size() > kCauses)
    all.causes.push_back(Text::format("{} more are below", record.faults.size() - kCauses));
  for (const Scheduler scheduler : {Scheduler::kubernetes, Scheduler::slurm})
    if (const Commands commands = commands_for(record, scheduler); !commands.drain.empty())
      all.next = commands.drain.front();
  if (const std::vector<Step> steps = next_steps(record); all.next.empty() && !steps.empty())
    all.next = steps.front().command;
  for (const NodeRecord& node : record.nodes)
    if (all.next.empty() && node.missing.duplicate) all.next = node.missing.fix;
  if (all.next.empty() && !part.empty()) all.next = record.faults.front().fix;
  return all;
}

}  // namespace

std::string_view word_of(std::string_view state) {
  return state == to_string(NodeState::confirmed) ? "bad"
         : state == to_string(NodeState::suspect) ? "undecided"
                                                  : state;
}

Text bringup_text(const Record& record, const std::string& folder, const std::string& page, const Terminal& terminal) {
  Text text = answer_text(bringup_answer(record), terminal);
  for (std::size_t i = 0; i < record.faults.size() && i < kMost; ++i) {
    const NamedFault& one = record.faults[i];
    const bool answered = i < kCauses;  // its text
    text += entry(Outcome::fail, Ink::bad, Text(one.title()), Text(answered ? one.fix : one.text),
                  answered ? std::string() : one.fix, terminal);
  }
  text += more(record.faults.size(), "faults");
  std::size_t missing = 0, suspects = 0;
  for (const NodeRecord& node : record.nodes)
    if (node.missing && ++missing <= kMost)
      text += entry(Outcome::skipped, Ink::doubt, Text::format("{} missing", node.host.name), Text(node.missing.why),
                    node.missing.fix, terminal);
  text += more(missing, "missing");
  for (const NodeRecord& node : record.nodes)
    if (!node.missing && node.state == NodeState::suspect && ++suspects <= kMost)
      text += entry(Outcome::inconclusive, Ink::doubt, Text::format("{} undecided", node.host.name),
                    Text(why_undecided(record)), "", terminal);
  text += more(suspects, "undecided nodes");
  text += differences_text(record, terminal);
  for (const Skipped& one : record.skipped)
    text +=
        terminal.paint(in_lines(Text::format("  {} skipped  {}", one.step, one.why), terminal, 4), Ink::faint) + "\n";

  text += groups_text(record, terminal);
  text += hand_over_text(record);

  std::size_t rounds = 0, pairs = 0;
  double took_s = 0;
  for (const RoundRecord& round : record.sessions.back().rounds) {
    ++rounds;
    pairs += round.pairs.size();
    took_s += round.took_s;
  }
  const auto s = [](std::size_t count) { return count == 1 ? "" : "s"; };
  text += Text::format("\n{} pair{} tested in {} round{}, {}{}. Details: {}/bringup.json\n", pairs, s(pairs), rounds,
                       s(rounds), format_duration(took_s), rates_of_few(record), folder);
  if (!page.empty()) text += Text::format("page     {}\n", page);
  for (const Step& step : next_steps(record))
    text += step_text("next     ", fmt::format("{}  # {}", step.command, step.when), terminal.text_width());
  return text + Text::format(
                    "VERDICT {} nodes={} accepted={} retested={} confirmed={} drained={} flapping={} suspect={} new={} "
                    "missing={} "
                    "faults={} rounds={} pairs={} exit={}\n",
                    headrace::to_string(record.word), record.nodes.size(), record.nodes_called("accepted"),
                    record.nodes_called("retested"), record.nodes_called("confirmed"), record.nodes_called("drained"),
                    record.nodes_called("flapping"), record.nodes_called("suspect"), record.nodes_called("new"),
                    record.nodes_called("missing"), record.faults.size(), rounds, pairs,
                    exit_code(record.word, record.signal));
}

Text dry_run_text(const Record& record, const Start& start, const std::string& no_mpi, const Terminal& terminal) {
  const unsigned by_tcp = tcp_rails(record);
  const unsigned rounds = likely_rounds(record);
  Text text = Text::format("nothing is started: --dry-run\nhosts     {}", record.nodes.size());
  if (!record.switches.empty()) text += Text::format(", {} switches or racks", record.switches.size());
  if (by_tcp > 1) text += Text::format(", {} rails", by_tcp);
  text += "\n" + in_lines(Text::format("agents    {}", start.commands.front()), terminal, 10) + "\n";
  text +=
      Text::format("timeout   {} for the first answer of each host, all in parallel\n", format_duration(start.start_s));
  for (const std::string& path : record.measuring.paths) text += Text::format("path      {}\n", path);
  if (!record.measuring.at.empty())
    text += Text::format("storage   accesses of the job, below {}\n", record.measuring.at);
  if (!no_mpi.empty() && !record.measuring.pairs_only)
    text +=
        in_lines(Text::format("skipped   collectives and storage load, if it is the same on the hosts: {}\n", no_mpi),
                 terminal, 10);
  if (!start.retest.empty()) text += Text::format("retest    {} nodes, with accepted ones\n", start.retest.size());
  return text +
         Text::format(
             "rounds    about {}, at most {}; {} sockets of a node at a time\ntime      about {} of pairs, "
             "besides starting the agents{}\n",
             rounds, std::max(rounds, record.measuring.search.most_rounds), record.measuring.streams + 1,
             format_duration(rounds * round_s(record)),
             record.measuring.no_rdma ? "" : ", and as long again for each RDMA port of a node, where there are any");
}

}  // namespace headrace::cli
