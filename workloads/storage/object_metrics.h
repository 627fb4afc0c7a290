// What the workloads that may read or write objects report on their requests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/backends/loader.h"
#include "harness/backends/object_store.h"
#include "harness/machine/node.h"
#include "harness/record/file_table.h"
#include "harness/record/metric.h"
#include "harness/record/repetition.h"

namespace headrace {

/// `metrics` and those of requests to an object store.
template <std::size_t N>
constexpr std::array<Metric, N + 5> with_object_metrics(const std::array<Metric, N>& metrics) {
  std::array<Metric, N + 5> all{};
  for (std::size_t i = 0; i < N; ++i) all[i] = metrics[i];
  all[N] = {"throttled_share", "", Better::lower,
            "Of objects: share of the requests that the store answered with 503 SlowDown or 429"};
  all[N + 1] = {"refused_share", "", Better::lower,
                "Of objects: share of the requests that failed otherwise, or whose connection broke"};
  all[N + 2] = {"retry_share", "", Better::lower, "Of objects: share of the requests that were sent again"};
  all[N + 3] = {"connections", "", Better::neither, "Of objects: connections that were opened in the repetition"};
  all[N + 4] = {"requests_in_flight", "", Better::neither,
                "Of objects that are read: requests that were on their way at once, on average (Little's law)"};
  return all;
}

/// Counts of one repetition, of an engine of objects.
class ObjectRequests {
 public:
  /// Untimed, when the data set is open.
  void open(Node& node, const std::string& engine, const FileTable& files) {
    if (files.holds_objects()) open(node, engine, files.root());
  }
  void open(Node& node, const std::string& engine, const std::string& url) {
    store_ = node.backends().storage(engine).object_store();
    reported_ = store_->describe(url);
  }
  bool on() const { return store_ != nullptr; }
  void before_phase() {
    if (on()) before_ = store_->counts();
  }
  void report(MetricSink& sink) const {
    if (!on()) return;
    const RequestCounts now = store_->counts();
    const auto requests = static_cast<double>(now.requests - before_.requests);
    const auto share = [requests](std::uint64_t count) {
      return requests > 0 ? static_cast<double>(count) / requests : 0;
    };
    sink.put("throttled_share", share(now.throttled - before_.throttled));
    sink.put("refused_share", share(now.refused - before_.refused));
    sink.put("retry_share", share(now.retries - before_.retries));
    sink.put("connections", static_cast<double>(now.connections - before_.connections));
  }
  /// The same of a phase that asks for objects, request by request.
  void report(const PhaseResult& phase, MetricSink& sink) const {
    report(sink);
    if (on()) sink.put("requests_in_flight", phase.operations_per_s() * 1e-9 * phase.latency.mean_ns());
  }
  void add_notes(std::vector<std::string>& notes) const {
    if (on()) notes.push_back("object store: " + reported_);
  }

 private:
  ObjectStore* store_ = nullptr;
  std::string reported_;
  RequestCounts before_;
};

}  // namespace headrace
