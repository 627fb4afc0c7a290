// host_facts - cores, memory and space that a job may use here: read, not measured.
#include <array>

#include "harness/workload.h"

namespace {
using namespace headrace;

constexpr std::array kMetrics{
    Metric{"cpu_cores", "count", Better::higher, "Cores that this process may use: affinity mask and CPU quota"},
    Metric{"memory_available", "B", Better::higher,
           "Memory that can be allocated without swapping: MemAvailable, or the control group's rest"},
    Metric{"free_space", "B", Better::higher, "Free space of the target's file system"},
};

/// How many cores, how much memory and how much space are there for the job?
class HostFacts final : public Workload {
 public:
  explicit HostFacts(Params&) {}

  static std::span<const Metric> metrics() { return kMetrics; }
  bool deterministic() const override { return true; }
  void prepare(Node& node, const DataProgress&) override {
    node_ = &node;
    cores_ = node.cores();  // not in run(): a worker is pinned, its affinity mask is one core
  }
  void run(Worker&) override {
    memory_ = node_->memory_available();
    space_ = node_->free_bytes(node_->scratch_path());
  }
  void report(const Repetition&, MetricSink& sink) const override {
    sink.put("cpu_cores", cores_);
    sink.put("memory_available", static_cast<double>(memory_));
    if (!node_->makes_objects()) sink.put("free_space", static_cast<double>(space_));
  }

 private:
  Node* node_ = nullptr;
  unsigned cores_ = 0;
  std::uint64_t memory_ = 0, space_ = 0;
};

const Register<HostFacts> registered{"host_facts", "cores, memory and free space that a job may use here"};
}  // namespace
