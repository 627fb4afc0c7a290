// bringup.json: docs/reference/bringup-json.md reports its members.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/diagnostics.h"
#include "harness/bringup/conclusion.h"
#include "harness/bringup/group_run.h"
#include "harness/bringup/hand_over.h"
#include "harness/bringup/rails.h"
#include "harness/bringup/record.h"
#include "harness/results/fields_codec.h"
#include "harness/results/json_place.h"
#include "harness/results/json_text.h"
#include "harness/results/parts.h"

namespace headrace {

template <>
struct Fields<bringup::GroupValue> {
  using S = bringup::GroupValue;
  static constexpr auto all = std::tuple(field("point", &S::point).required(), field("metric", &S::metric).required(),
                                         field("unit", &S::unit).required(), field("value", &S::value).required(),
                                         field("better", &S::better), field("best", &S::best));
};
static_assert(is_complete<bringup::GroupValue>());

template <>
struct Fields<bringup::LoadPhase> {
  using S = bringup::LoadPhase;
  static constexpr auto all =
      std::tuple(field("phase", &S::phase).required(), field("title", &S::title).required(),
                 field("unit", &S::unit).required(), field("outcome", &S::outcome).required(),
                 field("clients", &S::clients).required(), field("per_node", &S::per_node).required(),
                 field("in_all", &S::in_all).required(), field("need", &S::need).required(),
                 field("explanation", &S::explanation).required(), field("next_step", &S::next_step));
};
static_assert(is_complete<bringup::LoadPhase>());

template <>
struct Fields<bringup::GroupRun> {
  using S = bringup::GroupRun;
  static constexpr auto all = std::tuple(field("what", &S::what).required(), field("nodes", &S::nodes).required(),
                                         field("took_s", &S::took_s).required(), field("values", &S::values).required(),
                                         field("phases", &S::phases).required(), field("why", &S::why).if_set(),
                                         field("again", &S::again).if_set());
};
static_assert(is_complete<bringup::GroupRun>());

template <>
struct Fields<bringup::TestedMetric> {
  using S = bringup::TestedMetric;
  static constexpr auto all =
      std::tuple(field("workload", &S::workload).required(), field("point", &S::point).required(),
                 field("metric", &S::metric).required(), field("unit", &S::unit).required(),
                 field("better", &S::better).required(), field("description", &S::description).required(),
                 field("params", &S::params).required(),
                 field("leads", &S::leads).where([](const S& metric) { return !metric.leads; }));
};
static_assert(is_complete<bringup::TestedMetric>());

template <>
struct Fields<bringup::TestedFault> {
  using S = bringup::TestedFault;
  static constexpr auto all =
      std::tuple(field("part", &S::part).required(), field("told", &S::reported).required(), field("fix", &S::fix));
};

template <>
struct Fields<bringup::TestedNode> {
  using S = bringup::TestedNode;
  static constexpr auto all =
      std::tuple(field("node", &S::node).required(), field("values", &S::values).required(),
                 field("disturbed", &S::disturbed).if_set(), field("without", &S::without).if_set(),
                 field("faults", &S::faults).if_set(), field("far_below", &S::far_below).if_set());
};
static_assert(is_complete<bringup::TestedNode>());

template <>
struct Fields<bringup::NodeTests> {
  using S = bringup::NodeTests;
  static constexpr auto all =
      std::tuple(field("started_utc", &S::started_utc).required(), field("took_s", &S::took_s).required(),
                 field("metrics", &S::metrics).required(), field("nodes", &S::nodes).required());
};
static_assert(is_complete<bringup::NodeTests>());

}  // namespace headrace

namespace headrace::bringup {
namespace {

using Json = nlohmann::ordered_json;
using results::JsonPlace;

/// What nodes measured together. Throws UsageError where it is none.
GroupRun group_run_from(const JsonPlace& place) {
  auto run = results::decoded<GroupRun>(place);
  std::size_t i = 0;
  place.at("values").each([&](const JsonPlace& item) {  // of earlier versions: no best one
    GroupValue& one = run.values[i++];
    if (!item.has("best")) one.best = one.value;
  });
  return run;
}

constexpr unsigned kSchema = 1;
constexpr const char* kKind = "headrace.bringup";

Json host_json(const Host& host) {
  Json json{{"name", host.name}};
  if (!host.user.empty()) json["user"] = host.user;
  if (!host.rack.empty()) json["rack"] = host.rack;
  if (!host.leaf_switch.empty()) json["switch"] = host.leaf_switch;
  if (!host.rails.empty()) json["rail"] = host.rails;
  if (!host.rdma.empty()) json["rdma"] = host.rdma;
  return json;
}

Json node_json(const Record& record, unsigned number) {
  const NodeRecord& node = record.nodes[number];
  Json json = host_json(node.host);
  if (rails(record) > tcp_rails(record)) {
    Json names = Json::array();
    for (unsigned rail = 0; rail < rails(record); ++rail) names.push_back(rail_name(record, number, rail));
    json["rails"] = names;
  }
  json["state"] = to_string(node.state);
  if (node.taken_out) json["taken_out"] = true;
  if (node.missing)
    json["missing"] = {{"why", node.missing.why}, {"fix", node.missing.fix}, {"unreachable", node.missing.unreachable}};
  if (node.missing.duplicate) json["missing"]["duplicate"] = true;
  Json differences = Json::array();
  for (const Difference& one : node.differences)
    differences.push_back(
        {{"what", one.what}, {"told", one.reported}, {"fix", one.fix}, {"fault", one.fault}, {"tested", one.tested}});
  if (!differences.empty()) json["differences"] = differences;
  if (node.clock_s) json["clock_s"] = *node.clock_s;
  if (node.facts) json["facts"] = agents::facts_kept(*node.facts);
  return json;
}

Json pair_json(const PairMeasured& one) {
  Json json{{"nodes", {one.a, one.b}},
            {"rail", one.rail},
            {"rate", one.rate},
            {"resent", one.resent},
            {"latency_s", {one.latency_s, one.latency_median_s, one.latency_p99_s}}};
  if (!one.errors[0].empty() || !one.errors[1].empty()) json["errors"] = one.errors;
  if (one.caller) json["caller"] = *one.caller;
  return json;
}

Json session_json(const SessionRecord& session) {
  Json rounds = Json::array();
  for (const RoundRecord& round : session.rounds) {
    Json pairs = Json::array(), failed = Json::array();
    for (const PairMeasured& one : round.pairs) pairs.push_back(pair_json(one));
    for (const FailedPair& one : round.failed) {
      failed.push_back({{"nodes", {one.a, one.b}}, {"rail", one.rail}, {"why", one.why}});
      if (one.damaged) failed.back()["damaged"] = true;
      if (one.caller) failed.back()["caller"] = *one.caller;
      if (!one.own.empty()) failed.back()["own"] = one.own;
    }
    rounds.push_back({{"took_s", round.took_s}, {"pairs", pairs}, {"failed", failed}});
  }
  Json tests = Json::array();
  for (const NodeTests& one : session.tests) tests.push_back(results::encoded(one));
  Json groups = Json::array();
  for (const GroupRun& one : session.groups) groups.push_back(results::encoded(one));
  Json bad = Json::array();
  for (const auto& [node, reported] : session.failed) bad.push_back({{"node", node}, {"told", reported}});
  return {{"started_utc", session.started_utc},
          {"elapsed_s", session.elapsed_s},
          {"rdma_rails", session.rdma_rails},
          {"retest", session.retest},
          {"tests", tests},
          {"rounds", rounds},
          {"groups", groups},
          {"passed", session.passed},
          {"failed", bad}};
}

Json fault_json(const NamedFault& one) {
  Json json{{"scope", one.scope}, {"subject", one.subject}, {"told", one.text}, {"fix", one.fix}, {"loss", one.loss}};
  json["healthy"] = one.fault.healthy;
  Json in = Json::array();
  for (const Quality quality : one.fault.in) in.push_back(to_string(quality));
  json["in"] = in;
  if (!one.brief.empty()) json["brief"] = one.brief;
  return json;
}

Json hand_over_json(const Record& record) {
  const Commands slurm = commands_for(record, Scheduler::slurm),
                 kubernetes = commands_for(record, Scheduler::kubernetes);
  std::vector<std::string> bad;
  for (const unsigned node : slurm.nodes) bad.push_back(record.nodes[node].host.name);
  return {{"bad_nodes", compressed(bad)},
          {"slurm", {{"drain", slurm.drain}, {"resume", slurm.all_resume()}}},
          {"kubernetes", {{"drain", kubernetes.drain}, {"resume", kubernetes.all_resume()}}}};
}

Json states_json(const Record& record) {
  Json json = Json::object();
  for (const auto& [state, nodes] : nodes_by_state(record)) json[state] = nodes;
  return json;
}

Json next_json(const Record& record) {
  Json json = Json::array();
  for (const Step& step : next_steps(record)) json.push_back({{"when", step.when}, {"command", step.command}});
  return json;
}

unsigned node_at(const JsonPlace& place, std::size_t nodes) {
  const std::uint64_t number = place.whole();
  if (number >= nodes) place.refuse(fmt::format("{} is no number of a node: must be less than {}", number, nodes));
  return static_cast<unsigned>(number);
}

/// Two nodes, two values...
template <class Value, std::size_t N>
std::array<Value, N> some(const JsonPlace& place, const std::function<Value(const JsonPlace&)>& one) {
  std::array<Value, N> values{};
  std::size_t count = 0;
  place.each([&](const JsonPlace& item) {
    if (count < N) values[count] = one(item);
    ++count;
  });
  if (count != N) place.refuse("must have " + std::to_string(N) + " values");
  return values;
}

/// The file may be written by anyone: values that headrace cannot have written are rejected.
double within(const JsonPlace& place, double least, double most) {
  const double value = place.number();
  if (!(value >= least && value <= most)) place.refuse(fmt::format("must be from {:g} to {:g}", least, most));
  return value;
}
unsigned within(const JsonPlace& place, unsigned least, unsigned most) {
  const std::uint64_t value = place.whole();
  if (value < least || value > most) place.refuse(fmt::format("must be from {} to {}", least, most));
  return static_cast<unsigned>(value);
}

constexpr double kMostRate = 1e15;
double rate_at(const JsonPlace& place) { return within(place, 0.0, kMostRate); }
double share_at(const JsonPlace& place) { return within(place, 0.0, 1.0); }
double seconds_at(const JsonPlace& place) { return within(place, 0.0, kMostTime_s); }

std::map<std::string, std::uint64_t> errors_at(const JsonPlace& place) {
  std::map<std::string, std::uint64_t> errors;
  place.each_member([&](const std::string& name, const JsonPlace& count) { errors[name] = count.whole(); });
  return errors;
}

NodeState state_from(const JsonPlace& place) {
  const std::string word = place.text();
  if (const auto state = node_state_named(word)) return *state;
  std::vector<std::string> words;
  for (const NodeState state : kNodeStates) words.emplace_back(to_string(state));
  place.refuse(fmt::format("'{}' is no state of a node (one of {}){}", word, join(words), did_you_mean(word, words)));
}

NodeRecord node_from(const JsonPlace& place, const std::vector<NodeRecord>& before) {
  NodeRecord node;
  const JsonPlace name = place.at("name");
  const std::string user = place.text("user", "");
  const std::string login = (user.empty() ? "" : user + "@") + name.text();
  if (const std::string wrong = set_login(node.host, login); !wrong.empty()) name.refuse(wrong);
  for (const NodeRecord& other : before)
    if (other.host.name == node.host.name) name.refuse("is a second node of this name");
  node.host.rack = place.text("rack", "");
  node.host.leaf_switch = place.text("switch", "");
  if (place.has("rail")) node.host.rails = place.at("rail").texts();
  node.host.rdma = place.text("rdma", "");
  node.state = state_from(place.at("state"));
  node.taken_out = place.flag("taken_out", node.state == NodeState::drained);  // earlier versions wrote the state alone
  if (place.has("facts")) try {
      node.facts = agents::facts_from(place.at("facts").value());
    } catch (const std::exception&) {
      place.at("facts").refuse("are no facts of a host");
    }
  if (!before.empty() && before.front().host.rails.size() != node.host.rails.size())
    place.refuse("has another number of rails than the first node");
  if (place.has("missing")) {
    const JsonPlace missing = place.at("missing");
    node.missing = {missing.at("why").text(), missing.at("fix").text(), missing.flag("unreachable", false),
                    missing.flag("duplicate", false)};
  }
  return node;
}

std::array<unsigned, 2> two_nodes(const JsonPlace& place, const Record& record) {
  const auto both = some<unsigned, 2>(place, [&](const JsonPlace& item) { return node_at(item, record.nodes.size()); });
  if (both[0] == both[1]) place.refuse("is a node and itself");
  return both;
}

/// One of the two.
unsigned end_at(const JsonPlace& place, const std::array<unsigned, 2>& both) {
  const std::uint64_t node = place.whole();
  if (node != both[0] && node != both[1]) place.refuse("is none of the two nodes");
  return static_cast<unsigned>(node);
}

FailedPair failed_from(const JsonPlace& place, const std::array<unsigned, 2>& both, unsigned rail) {
  FailedPair one{both[0], both[1], rail, place.at("why").text(), place.flag("damaged", false)};
  if (place.has("caller")) one.caller = end_at(place.at("caller"), both);
  if (place.has("own")) place.at("own").each([&](const JsonPlace& item) { one.own.push_back(end_at(item, both)); });
  return one;
}

SessionRecord session_from(const JsonPlace& place, const Record& record) {
  const auto node = [&](const JsonPlace& item) { return node_at(item, record.nodes.size()); };
  SessionRecord session;
  session.started_utc = place.at("started_utc").text();
  session.elapsed_s = place.number("elapsed_s", 0);
  if (place.has("rdma_rails")) session.rdma_rails = place.at("rdma_rails").texts();
  if (session.rdma_rails.size() > agents::kMostRdmaPorts) place.at("rdma_rails").refuse("are more than a host has");
  const unsigned most_rail = rails_with(record, session) - 1;
  const auto rail_at = [&](const JsonPlace& item) { return within(item, 0u, most_rail); };
  if (place.has("tests"))
    place.at("tests").each([&](const JsonPlace& item) {
      session.tests.push_back(results::decoded<NodeTests>(item));
      for (const TestedNode& one : session.tests.back().nodes)
        if (one.node >= record.nodes.size()) item.refuse("names a node that is not among the nodes");
    });
  if (place.has("groups"))
    place.at("groups").each([&](const JsonPlace& item) {
      session.groups.push_back(group_run_from(item));
      for (const unsigned one : session.groups.back().nodes)
        if (one >= record.nodes.size()) item.refuse("names a node that is not among the nodes");
    });
  if (place.has("passed"))
    place.at("passed").each([&](const JsonPlace& item) { session.passed.push_back(node(item)); });
  if (place.has("failed"))
    place.at("failed").each(
        [&](const JsonPlace& item) { session.failed[node(item.at("node"))] = item.at("told").text(); });
  place.at("retest").each([&](const JsonPlace& item) { session.retest.push_back(node(item)); });
  place.at("rounds").each([&](const JsonPlace& at) {
    RoundRecord round;
    round.took_s = at.at("took_s").number();
    at.at("pairs").each([&](const JsonPlace& item) {
      PairMeasured one;
      const auto both = two_nodes(item.at("nodes"), record);
      one.a = both[0];
      one.b = both[1];
      one.rail = rail_at(item.at("rail"));
      one.rate = some<double, 2>(item.at("rate"), rate_at);
      one.resent = some<double, 2>(item.at("resent"), share_at);
      const auto latency = some<double, 3>(item.at("latency_s"), seconds_at);
      one.latency_s = latency[0];
      one.latency_median_s = latency[1];
      one.latency_p99_s = latency[2];
      if (item.has("errors")) one.errors = some<std::map<std::string, std::uint64_t>, 2>(item.at("errors"), errors_at);
      if (item.has("caller")) one.caller = end_at(item.at("caller"), both);
      round.pairs.push_back(one);
    });
    at.at("failed").each([&](const JsonPlace& item) {
      round.failed.push_back(failed_from(item, two_nodes(item.at("nodes"), record), rail_at(item.at("rail"))));
    });
    session.rounds.push_back(std::move(round));
  });
  return session;
}

Record record_in(const nlohmann::json& json) {
  const JsonPlace place(json);
  if (place.text("kind", "") != kKind) place.refuse("is no record of a bring-up");
  if (place.whole("schema", 0) != kSchema) place.refuse("is of another schema than this headrace reads");
  Record record;
  record.headrace = place.at("headrace").text();
  record.hosts_file = place.at("hosts_file").text();
  record.launch = place.at("launch").text();
  record.simulated = place.text("simulated", "");
  record.remote = place.text("remote", "");
  record.place = place.text("place", "");
  record.measuring.time_s = within(place.at("time_s"), kLeastTime_s, kMostTime_s);
  record.measuring.streams = within(place.at("streams"), 1u, 256u);
  record.measuring.paths = place.at("paths").texts();
  record.measuring.node_tests = place.text("node_tests", "");
  record.measuring.groups = place.text("group_tests", "");
  record.measuring.job = place.text("job", "");
  record.measuring.at = place.text("at", "");
  record.measuring.no_rdma = place.flag("no_rdma", false);
  record.measuring.pairs_only = place.flag("pairs_only", false);
  record.measuring.search.alpha = within(place.at("alpha"), 1e-9, 0.5);
  record.measuring.search.beta = within(place.at("beta"), 1e-9, 0.5);
  record.measuring.search.seed = place.at("seed").whole();
  record.measuring.search.most_rounds = within(place.at("most_rounds"), 1u, 1000u);
  record.measuring.search.every_link = place.at("every_link").flag();
  place.at("nodes").each([&](const JsonPlace& item) { record.nodes.push_back(node_from(item, record.nodes)); });
  place.at("sessions").each([&](const JsonPlace& item) { record.sessions.push_back(session_from(item, record)); });
  return record;
}

/// Faults as they were reported, each with its node's name.
void read_conclusion(const JsonPlace& place, Record& record) {
  record.word = outcome_named(place.at("word").text()).value_or(Outcome::incomplete);
  record.sentence = place.at("sentence").text();
  record.doubt = place.text("doubt", "");
  record.running = place.flag("running", false);
  place.at("skipped").each([&](const JsonPlace& item) {
    record.skipped.push_back({item.at("step").text(), item.at("why").text()});
  });
  std::size_t number = 0;
  place.at("nodes").each([&](const JsonPlace& item) {
    NodeRecord& node = record.nodes.at(number);
    if (item.has("differences"))
      item.at("differences").each([&](const JsonPlace& one) {
        node.differences.push_back({number, one.at("what").text(), one.at("told").text(), one.at("fix").text(),
                                    one.at("fault").flag(), one.flag("tested", false)});
      });
    ++number;
  });
  place.at("faults").each([&](const JsonPlace& item) {
    NamedFault& one = record.faults.emplace_back();
    one.scope = item.at("scope").text();
    one.subject = item.at("subject").text();
    one.text = item.at("told").text();
    one.fix = item.at("fix").text();
    one.loss = item.at("loss").number();
    one.fault.healthy = item.at("healthy").number();
    item.at("in").each([&](const JsonPlace& quality) {
      for (const Quality known : kQualities)
        if (quality.text() == to_string(known)) one.fault.in.push_back(known);
    });
    one.brief = item.text("brief", "");
    one.fault.scope = Finding::Scope::shared;
    if (one.scope != "node" && one.scope != "NIC") return;
    const std::string name = one.subject.substr(0, one.subject.find(' '));
    for (unsigned node = 0; node < record.nodes.size(); ++node)
      if (record.nodes[node].host.name == name) {
        one.fault.scope = one.scope == "node" ? Finding::Scope::node : Finding::Scope::nic;
        one.fault.a = node;
      }
  });
}

}  // namespace

std::string record_json(const Record& record) {
  Json nodes = Json::array(), sessions = Json::array(), faults = Json::array(), skipped = Json::array();
  for (unsigned node = 0; node < record.nodes.size(); ++node) nodes.push_back(node_json(record, node));
  for (const SessionRecord& one : record.sessions) sessions.push_back(session_json(one));
  for (const NamedFault& one : record.faults) faults.push_back(fault_json(one));
  for (const Skipped& one : record.skipped) skipped.push_back({{"step", one.step}, {"why", one.why}});
  return results::json_text({{"kind", kKind},
                             {"schema", kSchema},
                             {"headrace", record.headrace},
                             {"word", record.word},
                             {"exit_code", exit_code(record.word, record.signal)},
                             {"running", record.running},
                             {"sentence", record.sentence},
                             {"hosts_file", record.hosts_file},
                             {"launch", record.launch},
                             {"simulated", record.simulated},
                             {"remote", record.remote},
                             {"place", record.place},
                             {"time_s", record.measuring.time_s},
                             {"streams", record.measuring.streams},
                             {"paths", record.measuring.paths},
                             {"node_tests", record.measuring.node_tests},
                             {"group_tests", record.measuring.groups},
                             {"job", record.measuring.job},
                             {"at", record.measuring.at},
                             {"no_rdma", record.measuring.no_rdma},
                             {"pairs_only", record.measuring.pairs_only},
                             {"alpha", record.measuring.search.alpha},
                             {"beta", record.measuring.search.beta},
                             {"delta", kDelta},
                             {"seed", record.measuring.search.seed},
                             {"most_rounds", record.measuring.search.most_rounds},
                             {"every_link", record.measuring.search.every_link},
                             {"faults", faults},
                             {"states", states_json(record)},
                             {"usual_rate", record.usual_rate},
                             {"doubt", record.doubt},
                             {"next", next_json(record)},
                             {"skipped", skipped},
                             {"hand_over", hand_over_json(record)},
                             {"nodes", nodes},
                             {"sessions", sessions}});
}

namespace {

/// `read` of the file's JSON; its errors name the file, and the place in it.
template <class Read>
Record read_record(const std::string& text, const std::string& file, const Read& read) {
  try {
    return read(results::parse_json(text));
  } catch (const results::JsonError& e) {
    throw UsageError(e.place_in(file, text));
  } catch (const UsageError& e) {
    throw UsageError(file + ": " + e.what());
  }
}

}  // namespace

Record concluded_from(const std::string& text, const std::string& file) {
  return read_record(text, file, [](const nlohmann::json& json) {
    Record record = record_in(json);
    read_conclusion(JsonPlace(json), record);
    return record;
  });
}

Record record_from(const std::string& text, const std::string& file) { return read_record(text, file, record_in); }

}  // namespace headrace::bringup
