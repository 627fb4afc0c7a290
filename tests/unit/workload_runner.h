// Runs one repetition of a workload without the engine, and keeps what it reported.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/clock.h"
#include "harness/engine/search.h"
#include "harness/workload/workload.h"
#include "tests/unit/temporary_folder.h"

namespace headrace::testing {

class WorkloadRunner : private MetricSink {
 public:
  /// `yaml`: the parameters. A wrong one fails the test.
  WorkloadRunner(const std::string& name, const std::string& yaml) : info_(*Registry::instance().find(name)) {
    Diagnostics problems;
    const config::Value entry = config::parse_yaml(yaml, "test.yaml", problems);
    Params params(name, entry, problems);
    workload_ = info_.make(params);
    params.finish();
    for (const Diagnostic& d : problems.errors()) ADD_FAILURE() << to_string(d);
  }
  ~WorkloadRunner() override {
    if (prepared_) workload_->cleanup(node_);
  }

  Workload& operator*() { return *workload_; }
  Workload* operator->() { return workload_.get(); }
  template <class Ability>
  Ability& as() {
    return headrace::as<Ability>(*workload_);
  }
  Node& node() { return node_; }
  std::optional<Skip> check() { return workload_->check(node_); }
  void prepare() {
    workload_->prepare(node_, {});
    prepared_ = true;
  }

  /// Searches settings with the data in `state`.
  void search(CacheState state) { engine::search(workload_, state, false, {}, {}); }

  /// One repetition, all phases; `stop` ends each before it begins. Throws what a worker threw.
  Repetition repeat(std::uint64_t seed = 1, bool stop = false) {
    Repetition repetition;
    errors.clear();
    for (const PhaseSpec& phase : workload_->phases()) run_phase(phase, seed, stop, repetition);
    metrics.clear();
    workload_->report(repetition, *this);
    return repetition;
  }

  std::function<void(const std::string& phase)> before_phase = [](const std::string&) {};
  std::uint64_t lasts_ns = 0;             // each phase; 0 = until all is done
  std::map<std::string, double> metrics;  // of the last repetition
  std::vector<OperationError> errors;

 private:
  void run_phase(const PhaseSpec& spec, std::uint64_t seed, bool stop, Repetition& repetition) {
    const unsigned count = workload_->workers();
    const auto number = static_cast<unsigned>(repetition.phases.size());
    const std::size_t parts = workload_->latency_parts().size();
    std::vector<std::unique_ptr<Recorder>> recorders;
    for (unsigned i = 0; i < count; ++i) recorders.push_back(std::make_unique<Recorder>(static_cast<unsigned>(parts)));
    workload_->before_phase(number, 0, seed);
    before_phase(spec.name);
    const std::atomic<bool> stopped{stop};
    std::vector<std::exception_ptr> thrown(count);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        Worker worker{.index = i, .count = count, .phase = number, .seed = seed, .recorder = *recorders[i]};
        try {
          workload_->before_run(worker);
          worker.recorder.start(lasts_ns == 0 ? UINT64_MAX : now_ns() + lasts_ns, &stopped);
          workload_->run(worker);
        } catch (...) {
          thrown[i] = std::current_exception();
        }
        worker.recorder.finish();
      });
    }
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& e : thrown)
      if (e) std::rethrow_exception(e);
    PhaseResult& phase = repetition.phases.emplace_back();
    phase.name = spec.name;
    phase.parts.resize(parts);
    for (const auto& r : recorders) {
      phase.elapsed_s = std::max(phase.elapsed_s, 1e-9 * static_cast<double>(r->finished_ns() - r->started_ns()));
      phase.bytes += r->bytes();
      phase.operations += r->operations();
      phase.errors += r->errors();
      phase.latency.merge(r->latency());
      for (std::size_t p = 0; p < parts; ++p) phase.parts[p].merge(r->parts()[p]);
      for (std::size_t e = 0; e < std::min<std::size_t>(r->errors(), Recorder::kKeptErrors); ++e)
        errors.push_back(r->kept_errors()[e]);
    }
  }

  void put(std::string_view name, double value, double) override {
    EXPECT_TRUE(std::any_of(info_.metrics.begin(), info_.metrics.end(),
                            [&](const Metric& m) {
                              return m.name == name || (m.per_device && name.starts_with(std::string(m.name) + "_"));
                            }))
        << name << " is not in the catalogue";
    EXPECT_TRUE(std::isfinite(value)) << name;
    metrics.emplace(name, value);
  }

  const WorkloadInfo& info_;
  TemporaryFolder folder_;
  Node node_{folder_ / "scratch"};
  std::shared_ptr<Workload> workload_;
  bool prepared_ = false;
};

/// Every problem of `yaml` as a workload's parameters, one a line.
inline std::string problems_of(const std::string& name, const std::string& yaml) {
  Diagnostics problems;
  const config::Value entry = config::parse_yaml(yaml, "test.yaml", problems);
  Params params(name, entry, problems);
  Registry::instance().find(name)->make(params);
  params.finish();
  std::string text;
  for (const Diagnostic& d : problems.errors()) text += to_string(d) + "\n";
  return text;
}

}  // namespace headrace::testing
