// A workload whose every step a test writes down, and the plan around it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "harness/engine/plan/plan.h"
#include "harness/workload/workload.h"

namespace headrace::testing {

class ScriptedWorkload final : public Workload, public SavesCheckpoints, public JoinsRanks {
 public:
  static std::span<const Metric> metrics() {
    static constexpr Metric kMetrics[] = {
        {"read_bandwidth", "B/s", Better::higher, "bytes per second"},
        {"fixed", "count", Better::higher, "a value that the test chose"},
    };
    return kMetrics;
  }
  static const WorkloadInfo& info() {
    static const WorkloadInfo kInfo{"scripted", "does what a test says", metrics(), nullptr};
    return kInfo;
  }
  static const WorkloadInfo& fact() {
    static const WorkloadInfo kInfo{"scripted", "reads what a test says", metrics(), nullptr, {.deterministic = true}};
    return kInfo;
  }

  unsigned threads = 1, background = 0;
  std::vector<std::string> parts;
  std::vector<PhaseSpec> phase_list{{"main", false}};
  std::function<std::optional<Skip>()> on_check = [] { return std::nullopt; };
  std::function<void(const DataProgress&)> on_prepare = [](const DataProgress&) {};
  std::function<void(Worker&)> on_before_run = [](Worker&) {};
  std::function<void(Worker&)> on_run = [](Worker&) {};
  std::function<double(const Repetition&)> fixed = [](const Repetition&) { return 1.0; };
  std::function<std::vector<WrongBlock>()> on_verify = [] { return std::vector<WrongBlock>{}; };
  unsigned prepared = 0, cleaned = 0;
  std::optional<GroupShape> shape;
  std::string missing;  // not "": why there is no "fixed"

  std::optional<Skip> check(Node&) override { return on_check(); }
  unsigned workers() const override { return threads; }
  unsigned background_workers() const override { return background; }
  std::vector<std::string> latency_parts() const override { return parts; }
  std::vector<PhaseSpec> phases() const override { return phase_list; }
  void prepare(Node&, const DataProgress& progress) override {
    ++prepared;
    on_prepare(progress);
  }
  void before_run(Worker& worker) override { on_before_run(worker); }
  void run(Worker& worker) override { on_run(worker); }
  void report(const Repetition& r, MetricSink& sink) const override {
    double bytes = 0, seconds = 0;
    for (const PhaseResult& p : r.phases) {
      bytes += static_cast<double>(p.bytes);
      seconds += p.elapsed_s;
    }
    sink.put("read_bandwidth", bytes / seconds);
    if (missing.empty()) sink.put("fixed", fixed(r));
  }
  std::string why_missing(std::string_view metric) const override { return metric == "fixed" ? missing : ""; }
  std::vector<WrongBlock> verify(const DataProgress&) override { return on_verify(); }
  std::optional<GroupShape> group() const override { return shape; }
  void cleanup(Node&) override { ++cleaned; }
};

/// `count` operations of `bytes` bytes that take no real time: the recorder is reported made-up times 1
/// us apart.
inline void operations(Worker& worker, unsigned count, std::uint64_t bytes) {
  std::uint64_t at = now_ns();
  for (unsigned i = 0; i < count; ++i, at += 1000) worker.recorder.op(at, at + 1000, bytes);
}

inline void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

/// A plan of scripted points; `add` names them p0, p1...
struct ScriptedPlan {
  Plan plan;

  ScriptedPlan() {
    plan.name = "test";
    plan.target_path = "no-such-folder";
  }
  std::shared_ptr<ScriptedWorkload> add(const WorkloadInfo& info = ScriptedWorkload::info()) {
    auto workload = std::make_shared<ScriptedWorkload>();
    Point point;
    point.id = "p" + std::to_string(plan.points.size());
    point.info = &info;
    point.workload = workload;
    plan.points.push_back(std::move(point));
    return workload;
  }
  void need(const std::string& metric, double value, bool at_least = true) {
    plan.declared_needs.push_back({.id = "need." + metric,
                                   .metric = "scripted." + metric,
                                   .at_least = at_least,
                                   .value = value,
                                   .unit = metric == "read_bandwidth" ? "B/s" : "count",
                                   .source = "",
                                   .where = {}});
  }
};

}  // namespace headrace::testing
