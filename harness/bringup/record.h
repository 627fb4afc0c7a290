// The record of a cluster's bring-up: a state for each node, the results of each session, and the conclusions. It is
// written after every round, and read to resume.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/bringup/agents/failure.h"
#include "harness/bringup/blame/evidence.h"
#include "harness/bringup/group_run.h"
#include "harness/bringup/tests/node_tests.h"
#include "harness/bringup/tests/preflight.h"
#include "harness/judge/verdict/word.h"
#include "harness/machine/network/hosts_file.h"

namespace headrace::bringup {

/// new: nothing is decided. suspect: it may be bad, or could not be asked. confirmed: it is bad. accepted: it is not.
/// drained: bad, and taken out by --drain. retested: it was bad, and passed when it was paired again. flapping: it
/// passes now, failed after it had passed before, and has not passed often enough since (flapping.h).
enum class NodeState { fresh, suspect, confirmed, accepted, drained, retested, flapping };
inline constexpr std::array kNodeStates{NodeState::fresh,    NodeState::suspect, NodeState::confirmed,
                                        NodeState::accepted, NodeState::drained, NodeState::retested,
                                        NodeState::flapping};
std::string_view to_string(NodeState state);  // "new"...
constexpr bool is_bad(NodeState state) {
  return state == NodeState::confirmed || state == NodeState::drained || state == NodeState::flapping;
}
constexpr bool is_accepted(NodeState state) { return state == NodeState::accepted || state == NodeState::retested; }
std::optional<NodeState> node_state_named(std::string_view word);

struct NodeRecord {
  Host host;
  NodeState state = NodeState::fresh;
  bool taken_out = false;               // --drain drained it, and has not resumed it since
  agents::Failure missing;              // of this session: why it takes no part (any more)
  std::vector<Difference> differences;  // of this session
  std::optional<agents::HostFacts> facts;
  std::optional<double> clock_s;  // before the middle of all

  /// Its state, or "missing" where it takes no part and was not bad before: of each node one word.
  std::string_view word() const;
};

/// Two that could not be measured together, or could be connected one way alone.
struct FailedPair {
  unsigned a = 0, b = 0, rail = 0;
  std::string why;
  bool damaged = false;  // received data differed from sent data: once is enough
  std::optional<unsigned>
      caller{};  // the node whose call the other one did not get; none: it is not known, or both ways fail
  std::vector<unsigned> own{};  // nodes whose agents failed by themselves: nothing of the way between them
};

struct RoundRecord {
  double took_s = 0;
  std::vector<PairMeasured> pairs;
  std::vector<FailedPair> failed;
};

/// Numbers of nodes are places in Record::nodes.
struct SessionRecord {
  std::string started_utc;
  std::vector<unsigned> retest;  // none: all nodes that are there
  std::vector<RoundRecord> rounds;
  double elapsed_s = 0;  // with starting the agents and looking at the hosts
  std::vector<NodeTests> tests{};
  std::vector<GroupRun> groups{};
  std::vector<unsigned> passed{};            // the nodes that were measured in it, and found good
  std::map<unsigned, std::string> failed{};  // or bad, and the report about it
  std::vector<std::string> rdma_rails{};     // places of the ports that were measured by RDMA (rails.h)
};

inline constexpr double kLeastTime_s = 1e-3, kMostTime_s = 3600;  // of one way of a pair

/// The measurements, and how they are done.
struct Measuring {
  double time_s = 1;  // of one way of a pair
  unsigned streams = 4;
  std::vector<std::string> paths;  // of the job, which all hosts must have
  std::string node_tests;          // configuration of what each node measures by itself
  std::string groups;              // and of what groups of them do
  std::string job, at;             // what the job does is measured below that folder; "" = it is not
  bool no_rdma = false;            // pairs go by TCP alone; once given, also in later sessions
  bool pairs_only = false;         // neither, nor what groups of nodes measure; once given, also in later sessions
  SearchOptions search;
};

/// A step that was left out.
struct Skipped {
  std::string step, why;  // "node tests"
};

/// A fault, in words.
struct NamedFault {
  Fault fault;
  std::string scope, subject;  // "node", "node3"; "link", "node2 to node4"
  std::string text, fix;
  double loss = 0;      // of the rate, where that is what it loses; else 0
  std::string brief{};  // in a word or two, where it is in no quality: "no connections"
  std::string title() const { return scope + " " + subject; }
  std::string name() const { return scope == "node" ? subject : title(); }  // in a sentence
  bool of_a_node() const { return fault.scope == Finding::Scope::node || fault.scope == Finding::Scope::nic; }
  /// A fault of this node, or of a NIC of it.
  bool of_node(unsigned number) const { return of_a_node() && fault.a == number; }
};

/// What it is called in the folder of a bring-up.
inline constexpr const char* kFile = "bringup.json";

struct Record {
  std::string headrace;  // its version
  std::string hosts_file;
  std::string launch, remote;  // by --launch and --remote; "" = the default
  std::string place;           // of the folder that it was written into: in a copy, launch and remote are not believed
  std::string again;           // the command that continues it, but for --resume or --retest
  std::string simulated;       // the invented cluster; "": real hosts
  Measuring measuring;
  std::vector<NodeRecord> nodes;
  std::vector<std::string> switches;  // names, as in topology_of()
  std::vector<SessionRecord> sessions;
  std::vector<NamedFault> faults;
  std::vector<Skipped> skipped;    // of this session
  std::vector<double> usual_rate;  // of each rail [B/s]; none where too few nodes met
  bool running = false;            // a session goes on: this is its state so far
  Outcome word = Outcome::incomplete;
  std::string sentence;
  std::string doubt;  // why the usual rate may be that of slow nodes; "" = it is trusted
  int signal = 0;     // that ended the session

  std::size_t nodes_that_are(NodeState state) const;
  /// By NodeRecord::word().
  std::size_t nodes_called(std::string_view word) const;
  std::size_t missing() const;
  std::vector<std::string> names_of(std::span<const unsigned> which) const;
};

/// bringup.json.
std::string record_json(const Record& record);
/// `file`: what its problems name. Throws UsageError where it is none, or of another kind: "cluster/bringup.json:3:7: ...".
Record record_from(const std::string& text, const std::string& file);

}  // namespace headrace::bringup
