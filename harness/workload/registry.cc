// The list of workloads, and the metrics that every one of them has.
#include "harness/workload/registry.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace headrace {
namespace {

constexpr std::array kStandardMetrics{
    Metric{"latency_p50_ns", "ns", Better::lower, "Median latency"},
    Metric{"latency_p95_ns", "ns", Better::lower, "95th percentile of the latency"},
    Metric{"latency_p99_ns", "ns", Better::lower, "99th percentile of the latency"},
    Metric{"latency_p999_ns", "ns", Better::lower, "99.9th percentile of the latency"},
    Metric{"latency_p9999_ns", "ns", Better::lower, "99.99th percentile of the latency"},
    Metric{"latency_max_ns", "ns", Better::lower, "The slowest operation"},
    Metric{"elapsed_s", "s", Better::neither, "First submit to last completion, all phases"},
    Metric{"cpu_s", "s", Better::neither, "Processor time, user and system, of this process during the test"},
};

constexpr std::string_view kLatency = "latency_";

}  // namespace

Registry& Registry::instance() {
  static Registry registry;
  return registry;
}

void Registry::add(const WorkloadInfo& info) {
  const auto at = std::lower_bound(workloads_.begin(), workloads_.end(), info.name,
                                   [](const WorkloadInfo& w, std::string_view name) { return w.name < name; });
  if (at != workloads_.end() && at->name == info.name) {
    std::fprintf(stderr, "%s:%d: two workloads are named '%.*s'\n", __FILE__, __LINE__,
                 static_cast<int>(info.name.size()), info.name.data());
    std::abort();
  }
  workloads_.insert(at, info);
}

const WorkloadInfo* Registry::find(std::string_view name) const {
  const auto at =
      std::find_if(workloads_.begin(), workloads_.end(), [name](const WorkloadInfo& w) { return w.name == name; });
  return at == workloads_.end() ? nullptr : &*at;
}

std::vector<std::string> Registry::names() const {
  std::vector<std::string> names;
  for (const WorkloadInfo& w : workloads_) names.emplace_back(w.name);
  return names;
}

std::span<const Metric> standard_metrics() { return kStandardMetrics; }

std::vector<MetricInfo> metric_catalogue(const WorkloadInfo& info, std::span<const std::string> latency_parts,
                                         std::span<const std::string> devices) {
  std::vector<MetricInfo> all;
  const auto add = [&all](const Metric& m) {
    all.push_back({std::string(m.name), std::string(m.unit), m.better, std::string(m.description)});
  };
  for (const Metric& m : info.metrics) add(m);
  for (const Metric& m : info.metrics) {
    if (!m.per_device) continue;
    for (const std::string& device : devices)
      all.push_back({device_metric(m.name, device), std::string(m.unit), m.better,
                     std::string(m.description) + " (" + device + ")"});
  }
  for (const Metric& m : kStandardMetrics) add(m);
  for (const std::string& part : latency_parts) {
    for (const Metric& m : kStandardMetrics) {
      if (!m.name.starts_with(kLatency)) continue;
      all.push_back({part + "_" + std::string(m.name), std::string(m.unit), m.better,
                     std::string(m.description) + " (" + part + " alone)"});
    }
  }
  return all;
}

std::optional<double> percentile_of(std::string_view name) {
  constexpr std::string_view kEnd = "_ns";
  const std::size_t at = name.rfind("_p");
  if (at == std::string_view::npos || !name.ends_with(kEnd)) return std::nullopt;
  const std::string_view digits = name.substr(at + 2, name.size() - kEnd.size() - at - 2);
  unsigned number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
  double share = number;
  for (std::size_t i = 0; i < digits.size(); ++i) share /= 10;
  return share;
}

}  // namespace headrace
