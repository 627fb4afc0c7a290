#include "harness/bringup/blame/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/bringup/blame/fast_pair.h"
#include "harness/bringup/blame/fault_words.h"
#include "harness/bringup/blame/flapping.h"
#include "harness/bringup/blame/judge_groups.h"
#include "harness/bringup/rails.h"
#include "harness/bringup/tests/judge_tests.h"

namespace headrace::bringup {
namespace {

/// What a node is from now on.
NodeState state_of(const NodeRecord& node, PartState measured, bool named, bool retested, const Judged& judged) {
  const bool was_bad = is_bad(node.state);
  if (named) return node.state == NodeState::drained && !retested ? NodeState::drained : NodeState::confirmed;
  if (node.missing) return was_bad ? node.state : NodeState::suspect;
  switch (measured) {
    case PartState::cleared:
    case PartState::slower:
      // One that was taken out has to be let in again, however it was found to be well.
      return retested || node.taken_out || node.state == NodeState::retested ||
                     (was_bad && node.state != NodeState::confirmed)
                 ? NodeState::retested
                 : NodeState::accepted;
    case PartState::accused:  // what it shares with others is named in its place
      return NodeState::suspect;
    case PartState::undecided:
      break;
  }
  return judged.finished && !was_bad ? NodeState::suspect : node.state;
}

/// Joins the nodes' own measurements with their reports on themselves. Returns the nodes that have to measure again.
std::set<unsigned> take_in_tests(Record& record, const Judged& judged) {
  TestsJudged tests = judge_tests(record);
  for (NodeRecord& node : record.nodes)
    std::erase_if(node.differences, [](const Difference& one) { return one.tested; });
  for (Difference& one : tests.differences)
    if (judged.takes_part[one.host]) record.nodes[one.host].differences.push_back(std::move(one));
  record.faults.insert(record.faults.end(), tests.shared.begin(), tests.shared.end());
  return {tests.suspects.begin(), tests.suspects.end()};
}

std::string counted(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::vector<double> usual_rates(const Record& record, const Evidence& evidence) {
  std::vector<double> rates;
  for (unsigned rail = 0; rail < rails(record); ++rail) rates.push_back(evidence.usual_rate(rail));
  return rates;
}

constexpr std::size_t kNamed = 4;

/// "a, b and 3 more".
std::string some_of(const std::vector<std::string>& titles) {
  std::string text;
  for (std::size_t i = 0; i < titles.size() && i < kNamed; ++i) text += (i > 0 ? ", " : "") + titles[i];
  if (titles.size() > kNamed) text += fmt::format(" and {} more", titles.size() - kNamed);
  return text;
}

/// Is it, or a NIC of it, among the faults?
bool is_named(const Record& record, unsigned node) {
  return std::any_of(record.faults.begin(), record.faults.end(),
                     [&](const NamedFault& known) { return known.of_node(node); });
}

std::vector<std::string> flapping_ones(const Record& record) {
  std::vector<std::string> names;
  for (const NodeRecord& one : record.nodes)
    if (one.state == NodeState::flapping) names.push_back(one.host.name);
  return names;
}

std::vector<std::string> missing_ones(const Record& record) {
  std::vector<std::string> names;
  for (const NodeRecord& one : record.nodes)
    if (one.missing) names.push_back(one.host.name);
  return names;
}

/// Bad in an earlier session, and nothing has cleared it since.
std::vector<std::string> bad_before(const Record& record) {
  std::vector<std::string> names;
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    const NodeRecord& one = record.nodes[node];
    if ((one.state == NodeState::confirmed || one.state == NodeState::flapping) && !is_named(record, node))
      names.push_back(one.host.name);
  }
  return names;
}

/// The nodes that were measured in this session.
std::vector<bool> measured_now(const Record& record) {
  std::vector<bool> all(record.nodes.size(), false);
  for (const RoundRecord& round : record.sessions.back().rounds)
    for (const PairMeasured& one : round.pairs) all[one.a] = all[one.b] = true;
  for (const NodeTests& tests : record.sessions.back().tests)
    for (const TestedNode& one : tests.nodes) all[one.node] = true;
  return all;
}

/// The report about a node, and about its NICs.
std::string reported_for(const Record& record, unsigned node) {
  std::string text;
  for (const NamedFault& one : record.faults)
    if (one.of_node(node)) text += (text.empty() ? "" : "; ") + one.text;
  return text;
}

/// Names a node that flaps: it is good now, which is not enough.
void name_flapping(Record& record, unsigned node) {
  const auto flaps = flapping(record, node);
  if (!flaps) return;
  record.nodes[node].state = NodeState::flapping;
  NamedFault reported;
  reported.fault = {Finding::Scope::node, node, 0, 0, 0, {}};
  reported.scope = "node";
  reported.subject = record.nodes[node].host.name;
  reported.text = "it comes and goes: " + flaps->reported;
  reported.fix = fmt::format(
      "keep it out. Look for an intermittent fault: the seat of cables and modules, temperatures, links that went down "
      "(dmesg, ethtool -S). {}: --retest {}",
      flaps->left == 1 ? "1 more pass in a row accepts it"
                       : fmt::format("{} more passes in a row accept it", flaps->left),
      reported.subject);
  record.faults.push_back(std::move(reported));
}

std::string sentence_of(const Record& record, std::size_t taking_part, std::size_t undecided,
                        const std::vector<std::string>& before) {
  const std::size_t missing = record.missing();
  if (taking_part == missing) return "No node answered: nothing was measured, and all states are as they were before.";
  if (taking_part < missing + 2)
    return "Fewer than two nodes took part: nothing was measured, and all states are as they were before.";
  std::string text = fmt::format("{} of {} took part", taking_part - missing, counted(taking_part, "node"));
  std::vector<std::string> titles;
  for (const NamedFault& one : record.faults) titles.push_back(one.name());
  text += titles.empty() ? "; nothing bad was found" : "; bad: " + some_of(titles);
  if (const std::vector<std::string> flap = flapping_ones(record); !flap.empty())
    text += "; flapping: " + some_of(flap);
  if (!before.empty()) text += "; bad before, and not cleared since: " + some_of(before);
  if (undecided > 0) text += fmt::format("; {} undecided", undecided);
  if (missing > 0) text += "; missing: " + some_of(missing_ones(record));
  return text + ".";
}

}  // namespace

Replay::Replay(const Record& record) : since_(record.nodes.size(), 0) {
  for (std::size_t s = 0; s < record.sessions.size(); ++s)
    for (const unsigned node : record.sessions[s].retest) since_[node] = s;
}

void judge(Record& record, const Judged& judged) {
  const FaultWords words(record, judged);
  SessionRecord& session = record.sessions.back();
  const std::vector<unsigned>& retest = session.retest;
  const std::vector<bool> met = measured_now(record);
  session.passed.clear();
  session.failed.clear();
  record.faults.clear();
  record.usual_rate.clear();
  const bool enough = words.enough();
  if (enough) record.usual_rate = usual_rates(record, judged.evidence);
  if (enough)
    for (const Fault& fault : judged.evidence.faults()) record.faults.push_back(words.describe(fault));
  for (const Broken& broken : judged.broken) record.faults.push_back(words.describe(broken));
  const std::set<unsigned> suspects = take_in_tests(record, judged);
  const GroupsJudged groups = judge_groups(record);
  record.faults.insert(record.faults.end(), groups.faults.begin(), groups.faults.end());
  // The usual rate of a fleet with half of its nodes slow clears none of them.
  const auto slows = [](const Fault& fault) { return std::ranges::find(fault.in, Quality::rate) != fault.in.end(); };
  record.doubt = retest.empty() && std::ranges::none_of(judged.evidence.faults(), slows) ? doubt_of(record) : "";
  const bool trusted = enough && record.doubt.empty();
  std::size_t taking_part = 0, undecided = 0, present = 0;
  for (unsigned node = 0; node < record.nodes.size(); ++node)
    present += judged.takes_part[node] && !record.nodes[node].missing;
  for (unsigned node = 0; node < record.nodes.size(); ++node) {
    if (!judged.takes_part[node]) continue;
    ++taking_part;
    NodeRecord& one = record.nodes[node];
    const NamedFault differs = words.describe(node);
    if (!differs.text.empty()) {
      const auto at = std::find_if(record.faults.begin(), record.faults.end(), [&](const NamedFault& known) {
        return known.fault.scope == Finding::Scope::node && known.fault.a == node;
      });
      if (at == record.faults.end()) {
        record.faults.push_back(differs);
      } else {
        at->text += "; " + differs.text;
        at->fix += "; " + differs.fix;
      }
    }
    const bool named = is_named(record, node);
    const bool retested = std::find(retest.begin(), retest.end(), node) != retest.end();
    const PartState measured = trusted && !suspects.contains(node) ? judged.evidence.node(node) : PartState::undecided;
    // Where nothing could be measured, no node's state changes: a launcher may be wrong, or this host alone.
    if (present >= 2) one.state = state_of(one, measured, named, retested, judged);
    if (named) {
      session.failed[node] = reported_for(record, node);
    } else if (!one.missing && (measured == PartState::cleared || measured == PartState::slower)) {
      if (met[node]) session.passed.push_back(node);
      name_flapping(record, node);
    }
    undecided += !named && !one.missing && measured == PartState::undecided;
  }
  const std::vector<std::string> before = bad_before(record);
  Found found;
  found.fail = !record.faults.empty() || !before.empty();
  found.error = present < 2;
  found.inconclusive = undecided > 0 || groups.undecided;
  found.incomplete = present < taking_part || record.running;
  record.word = record.signal != 0 ? Outcome::interrupted : worst(found);
  record.sentence = sentence_of(record, taking_part, undecided, before);
  if (!record.doubt.empty()) record.sentence += " " + record.doubt + ".";
  if (record.running) record.sentence += " It still runs, or was killed: --resume continues it.";
  if (groups.undecided) record.sentence += " It is undecided if storage meets the needs of the job.";
  if (!enough && present >= 2 && present < FaultWords::kFewestNodes)
    record.sentence += fmt::format(" With fewer than {} nodes there is no baseline.", FaultWords::kFewestNodes);
}

std::string_view to_string(NodeState state) {
  constexpr std::array<std::string_view, kNodeStates.size()> kWords{"new",     "suspect",  "confirmed", "accepted",
                                                                    "drained", "retested", "flapping"};
  return kWords[static_cast<std::size_t>(state)];
}

std::optional<NodeState> node_state_named(std::string_view word) {
  for (const NodeState state : kNodeStates)
    if (to_string(state) == word) return state;
  return std::nullopt;
}

std::string_view NodeRecord::word() const { return missing && !is_bad(state) ? "missing" : to_string(state); }

std::size_t Record::nodes_called(std::string_view word) const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](const NodeRecord& one) { return one.word() == word; }));
}

std::size_t Record::nodes_that_are(NodeState state) const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](const NodeRecord& one) { return one.state == state; }));
}

std::vector<std::string> Record::names_of(std::span<const unsigned> which) const {
  std::vector<std::string> names;
  for (const unsigned node : which) names.push_back(nodes[node].host.name);
  return names;
}

std::size_t Record::missing() const {
  return static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const NodeRecord& one) { return static_cast<bool>(one.missing); }));
}

}  // namespace headrace::bringup
