// Many nodes' runs held against each other: which nodes, racks and links are unlike the rest, and
// which nodes nobody knows anything of. docs/run-files.md describes what is written of it
// (fleet.json).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/comparison/comparison.h"
#include "harness/results/run_file.h"
#include "harness/statistics/robust.h"

namespace headrace::fleet {

/// A host that should report, and where it stands: "node01 rack=r1 switch=s1".
struct Host {
  std::string name;
  std::map<std::string, std::string> attributes;
};

/// One host per line, "name key=value ...", '#' begins a comment. Throws UsageError with every
/// problem: "hosts.txt:3: ...".
std::vector<Host> read_hosts(const std::string& path);

/// One metric of one point that nodes are compared by.
struct MetricKey {
  std::string workload, point, metric, unit, description;
  std::map<std::string, std::string> params;
  Better better = Better::higher;
  double delta = 0;
};

/// Rates between nodes. values[from][to]; what was not measured is NaN.
struct PairMatrix {
  std::string workload, point, metric, unit;
  Better better = Better::higher;
  std::vector<std::string> nodes;
  std::vector<std::vector<double>> values;
};

/// What is kept of a run: ten thousand of them fit into memory.
struct NodeRun {
  std::string node, run, path, started_utc, word, config_file;
  std::string hardware;  // what its group is made by; lines of "key value"
  bool needs_failed = false;
  std::optional<NoiseFloor> noise;
  std::vector<std::pair<std::size_t, double>> values;  // by index of the metric
};

/// Runs as they are read, by several threads at once.
class Collector {
 public:
  explicit Collector(comparison::Options options);
  ~Collector();
  /// Keeps what is needed of the run. Safe to call from several threads.
  void add(const results::StoredRun& run, std::vector<PairMatrix> pairs);

  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// Reads a run file without its repetitions, and the pair matrices in it. Throws UsageError.
void collect(const std::string& path, Collector& collector);

struct Unreadable {
  std::string path, node, why;
};

struct Missing {
  std::string node, why, next_step;
};

struct Node {
  std::string name, run, path, started_utc, word;
  std::map<std::string, std::string> attributes;
  std::size_t group = 0;
  unsigned runs = 1;
  std::vector<std::optional<double>> values, deviation;  // along the metrics
};

struct GroupDifference {
  std::string key, value, usual;
};

/// Nodes of the same hardware and firmware.
struct Group {
  std::string id;
  std::size_t nodes = 0;
  bool judged = false;
  std::string why;
  std::vector<GroupDifference> differs;  // from the largest group
};

/// Where a node of a group becomes an outlier.
struct Limit {
  std::size_t group = 0, metric = 0, nodes = 0;
  statistics::Robust usual;
  std::optional<double> low, high;  // on the bad side
};

/// What the nodes' own noise floors are together.
struct NodeNoise {
  std::size_t nodes = 0;                    // that were compared with themselves
  double median = 0, false_alarm_rate = 0;  // medians over those nodes; shares
  std::string highest_node;
  double highest = 0;
};

enum class Status { confirmed, suspected, passing };
std::string_view to_string(Status status);

struct Outlier {
  std::size_t node = 0, metric = 0;
  double value = 0, median = 0, deviation = 0, z = 0;
  Status status = Status::suspected;
  std::optional<double> again;
  std::string again_run, explanation, next_step;
};

/// A shift that nodes of one rack or switch share.
struct GroupEffect {
  std::string attribute, name, explanation;
  std::size_t metric = 0;
  double shift = 0, z = 0;
  std::vector<std::size_t> nodes;
};

struct BlamedNode {
  std::string node, explanation;
  unsigned partners = 0, slow = 0;
};

struct SlowLink {
  std::string from, to;
  double value = 0, deviation = 0;
};

struct JudgedPairs {
  PairMatrix matrix;
  double median = 0, low = 0;  // low: below it a pair is slow
  std::vector<BlamedNode> blamed;
  std::vector<SlowLink> links;  // slow, and neither end is blamed
};

struct Fleet {
  double delta_rate = statistics::kDeltaRate, delta_tail = statistics::kDeltaTail;
  std::string hosts_file;
  std::size_t expected = 0, reported = 0, judged = 0, needs_failed = 0;
  std::vector<Missing> missing;
  std::vector<Unreadable> unreadable;
  std::vector<Group> groups;
  std::vector<MetricKey> metrics;
  std::vector<Limit> limits;
  std::vector<Node> nodes;        // by rack or switch where known, then by name
  std::vector<Outlier> outliers;  // confirmed first, then worst first
  std::vector<GroupEffect> effects;
  std::vector<JudgedPairs> pairs;
  std::optional<NodeNoise> noise;
  std::string word, sentence;
  int exit_code = 0;

  std::size_t count(Status status) const;
};

struct Options {
  double delta_rate = statistics::kDeltaRate, delta_tail = statistics::kDeltaTail;
  std::string hosts_file;
  std::vector<Host> hosts;  // empty: whoever reported was expected
};

/// Judges what was collected. The newest run of each node counts; others confirm.
Fleet judge(Collector& collected, std::vector<Unreadable> unreadable, const Options& options);

/// fleet.json; a line per node and metric.
std::string fleet_json(const Fleet& fleet);
std::string fleet_csv(const Fleet& fleet);

}  // namespace headrace::fleet
