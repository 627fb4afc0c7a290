// Compares the runs of many nodes: nodes, racks and links that differ from the rest, and nodes without data.
// docs/explanation/fleets-and-history.md has the rules (F1...), docs/reference/fleet-json.md the file (fleet.json).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analysis/comparison/comparison.h"
#include "harness/judge/statistics/robust.h"
#include "harness/machine/network/hosts_file.h"
#include "harness/record/pair_matrix.h"
#include "harness/results/run_file.h"

namespace headrace::fleet {

/// One metric of one point that nodes are compared by.
struct ComparedMetric {
  std::string workload, point, metric, unit, description;
  std::map<std::string, std::string> params;
  Better better = Better::higher;
  double delta = 0;
};

/// Runs as they are read, by several threads at once.
class Collector {
 public:
  /// `metrics`: by which nodes are compared. The deltas: a smaller difference makes no node an outlier, as delta_of().
  explicit Collector(results::MetricFilter metrics = {}, double delta_rate = statistics::kDeltaRate,
                     double delta_tail = statistics::kDeltaTail);
  ~Collector();
  Collector(Collector&&) noexcept;
  /// Keeps the needed part of the run: ten thousand of them fit into memory. Safe to call from several threads.
  void add(const results::StoredRun& run);

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Reads a run file without its phases and series. Throws UsageError.
void collect(const std::string& path, Collector& collector);

struct Unreadable {
  std::string path, node, why;
};

struct Missing {
  std::string node, why, next_step;
};

struct Node {
  std::string name, run, path, started_utc;  // of the newest run
  Outcome word = Outcome::measured;          // the worst that its own current runs say (F8)
  std::map<std::string, std::string> attributes;
  std::size_t group = 0;
  unsigned runs = 1;                                     // copies count once
  std::vector<std::optional<double>> values, deviation;  // along the metrics
};

struct GroupDifference {
  std::string key, value, usual;
};

/// By how much the level of a group lies from that of the largest one.
struct GroupShift {
  std::size_t metric = 0;
  double shift = 0;
};

/// Nodes of the same hardware and firmware.
struct Group {
  std::string id;
  std::size_t nodes = 0;
  bool judged = false;
  std::string why;
  std::vector<GroupDifference> differs;  // from the largest group
  std::vector<GroupShift> shifts;
};

/// Where a node of a group becomes an outlier.
struct Limit {
  std::size_t group = 0, metric = 0, nodes = 0;
  statistics::Robust usual;
  std::optional<double> low, high;  // on the bad side
};

/// The nodes' own noise floors, combined.
struct NodeNoise {
  std::size_t nodes = 0;                    // that were compared with themselves
  double median = 0, false_alarm_rate = 0;  // medians over those nodes; shares
  std::string highest_node;
  double highest = 0;
};

/// Did another session say the same? Nothing is confirmed by one session, nor by its copy.
enum class Status { confirmed, suspected, passing };
std::string_view to_string(Status status);

struct Outlier {
  std::size_t node = 0, metric = 0;
  double value = 0, median = 0;
  std::optional<double> deviation, z;  // nothing where the usual is 0
  Status status = Status::suspected;
  std::optional<double> again;
  std::string again_run, explanation, next_step;
};

/// A shift that nodes share: of one rack or switch, of a setting, or of two humps, by nothing
/// known.
struct GroupEffect {
  std::string attribute, name;  // "rack", "r3"; "" of two humps that nothing explains
  std::size_t metric = 0;
  double usual = 0, level = 0;  // medians of the rest and of these nodes
  std::optional<double> again;  // median of these nodes in another session
  std::optional<double> shift;  // nothing where the usual is 0
  double z = 0;
  Status status = Status::suspected;
  std::vector<std::size_t> nodes;
  std::string explanation, next_step;
};

/// The finding of a matrix of pairs on a node, a rail or a link.
struct JudgedPair {
  PairFinding finding;
  Status status = Status::suspected;
};

/// A matrix of pairs of the newest run that measured them.
struct JudgedPairs {
  std::string workload, point, run, path, started_utc;
  PairMatrix matrix;
  Blame blame;
  std::vector<JudgedPair> findings;
};

struct Fleet {
  double delta_rate = statistics::kDeltaRate, delta_tail = statistics::kDeltaTail;
  std::string hosts_file;
  std::size_t expected = 0, reported = 0, judged = 0;
  std::size_t absent = 0;                // of whom there is nothing that can be read
  std::map<Outcome, std::size_t> words;  // the number of nodes for each of their own outcomes
  std::vector<Missing> missing;
  std::vector<Unreadable> unreadable;
  std::vector<Group> groups;
  std::vector<ComparedMetric> metrics;
  std::vector<Limit> limits;
  std::vector<Node> nodes;        // by rack or switch where known, then by name
  std::vector<Outlier> outliers;  // confirmed first, then worst first
  std::vector<GroupEffect> effects;
  std::vector<JudgedPairs> pairs;
  std::optional<NodeNoise> noise;
  Outcome word = Outcome::measured;
  std::string sentence;
  int exit_code = 0;

  std::size_t count(Status status) const;  // outliers
  std::size_t effects_that_are(Status status) const;
  std::size_t pairs_that_are(Status status) const;
  std::size_t saying(Outcome word) const;
};

struct Options {
  double delta_rate = statistics::kDeltaRate, delta_tail = statistics::kDeltaTail;
  std::string hosts_file;
  std::vector<Host> hosts;  // the expected reporters; empty: those that did report
};

/// Judges the collected runs. The newest run that reports a value counts; those before confirm.
Fleet judge(Collector& collected, std::vector<Unreadable> unreadable, const Options& options);

/// fleet.json; a line per node and metric.
std::string fleet_json(const Fleet& fleet);
std::string fleet_csv(const Fleet& fleet);

}  // namespace headrace::fleet
