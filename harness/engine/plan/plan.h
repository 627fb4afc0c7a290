// The content of a config, resolved: the points to run, in order, with every parameter known. Nothing has run yet.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/config/document.h"
#include "harness/engine/plan/benchmark/rules.h"
#include "harness/job/needs.h"
#include "harness/record/cache_state.h"
#include "harness/record/params.h"
#include "harness/workload/registry.h"

namespace headrace {

/// A need that the config itself declares (besides the job's): metric, direction, value.
struct DeclaredNeed {
  std::string id;
  std::string metric;  // "small_file_read.open_latency_p99_ns"
  bool at_least = true;
  bool optional = false;  // not judged where the machine has nothing to measure it on
  double value = 0;       // SI
  std::string unit;
  std::string source;                     // free text: where the number comes from
  std::vector<job::JobParameter> with{};  // of points with these parameters alone
  Location where;
};

struct RepeatPlan {
  std::vector<unsigned> looks{5, 10, 15};
  double budget_s = 1200;  // no new repetition starts after this much time on one point
};

/// One workload with one set of parameters.
struct Point {
  std::string id;  // "small_file_read/engine:posix/workers:8", unique; only swept keys, plus a label if given
  const WorkloadInfo* info = nullptr;
  std::shared_ptr<Workload> workload;  // shared with worker threads, which may outlive the point when storage hangs
  std::map<std::string, ParamValue> params;  // full, defaults included
  CacheState cache = CacheState::asis;
  bool verify = false;
  double duration_s = 0;              // time budget of one repetition (per phase); 0 = the workload's own end
  double rest_s = 0;                  // pause between repetitions
  std::optional<double> making_s;     // longest time of making its data; nothing: as long as it takes
  std::vector<std::string> unproven;  // parts smaller than the job's, and what that leaves unproven; a sentence each
  bool one_per_node = false;          // of several ranks only the first of each node takes part
  unsigned clients = 0;               // that many of those take part, on as many nodes as can be; 0 = all
  double timeout_s = 0;               // no answer for this time: it hangs; 0 = as in EngineLimits
  std::optional<double> ceiling;      // bytes/s that cannot be exceeded; above: "cannot be true"
  RepeatPlan repeat;
  config::Value resolved;  // its entry of config.resolved.yaml
  Location where;
};

/// Everything `run` and `qualify` need; also what `plan`, `validate` and config.resolved.yaml print.
struct Plan {
  std::string name;
  std::string config_file;
  bool from_job = false;    // the points follow from the job alone, and config_file is the job's
  std::string config_hash;  // of the resolved configuration
  config::Value resolved;
  std::string target_path;      // scratch folder (not made yet)
  std::uint64_t max_write = 0;  // 0 = no limit of its own
  std::uint64_t seed = 1;
  double budget_s = 0;  // of the whole run, after which no point begins; 0 = none
  std::vector<Point> points;
  std::optional<job::Job> job;
  std::vector<job::Need> needs;        // the job's needs that this config asks for
  std::vector<std::string> not_asked;  // the job's other needs, by id
  std::vector<std::string> remarks;    // the parts left out, and why; a sentence each
  std::vector<DeclaredNeed> declared_needs;
  bool rehearsal = false;              // the job's input pipeline, and counter-experiments
  std::string calibration;             // how the time of decoding was measured before; "" = it was not
  std::string rules;                   // of a benchmark, that a rehearsal is compared with; "" = none
  std::vector<RuleCheck> rule_checks;  // the ones that the plan keeps
};

struct PlanOptions {
  std::string config_file;                 // "" = the points follow from the job
  std::string job_file;                    // "" = none
  unsigned processes = 1;                  // that take part, this one among them
  bool rehearse = false;                   // of a job: its input pipeline as a whole, and its limit
  bool tune = false;                       // so, too: which fewer workers suffice
  std::string rules;                       // of a benchmark, by which it is rehearsed; "" = none
  std::vector<std::string> overrides;      // --set key=value on the config
  std::vector<std::string> job_overrides;  // --set job.key=value, prefix removed
  std::vector<std::string> only, skip;     // globs on point ids and workload names
  std::vector<unsigned> looks;             // --looks
  std::optional<double> budget_s;          // with a configuration of one point, else of all
  std::string target_path;                 // "" = by the configuration; of make_points() its value
  std::optional<std::uint64_t> max_write;  // [B]
  std::string data;                        // a data set that the job's points read; "" = the job's dataset.path
  std::optional<std::uint64_t> seed;
  std::size_t max_points = 200;
};

/// Reads, resolves and checks everything. Throws UsageError with every problem of all files.
Plan make_plan(const PlanOptions& options);

// A plan from a configuration that is in no file.

/// As make_plan() of a file that holds `configuration`; options.config_file and options.overrides are not read. Each
/// problem is reported at the place that its value has. Throws UsageError.
Plan make_plan(const config::Value& configuration, const PlanOptions& options);

}  // namespace headrace
