// host_facts - cores, memory, limits of processes and space that a job may use here: read, not measured.
#include <algorithm>
#include <array>
#include <optional>

#include "harness/machine/limits.h"
#include "harness/workload/workload.h"

namespace {
using namespace headrace;

constexpr std::array kHostFactsMetrics{
    Metric{"cpu_cores", "count", Better::higher, "Cores that this process may use: affinity mask and CPU quota"},
    Metric{"memory_available", "B", Better::higher,
           "Memory that can be allocated without swapping: MemAvailable, or the control group's rest"},
    Metric{"shared_memory_available", "B", Better::higher,
           "Memory that processes can share: the smaller of memory_available and the free space of /dev/shm"},
    Metric{"processes_available", "count", Better::higher,
           "Processes and threads that may still be started: kernel, user and control group"},
    Metric{"open_files", "count", Better::higher, "Files that a process may have open (ulimit -n)"},
    Metric{"free_space", "B", Better::higher, "Free space of the target's file system"},
};

/// How many cores, how much memory and how much space are there for the job?
class HostFacts final : public Workload {
 public:
  explicit HostFacts(Params&) {}

  static std::span<const Metric> metrics() { return kHostFactsMetrics; }
  static constexpr WorkloadTraits kTraits{.deterministic = true};
  void prepare(Node& node, const DataProgress&) override {
    node_ = &node;
    open_files_ = system::limit_of(RLIMIT_NOFILE).soft;
    cores_ = node.cores();  // not in run(): a worker is pinned, its affinity mask is one core
  }
  void run(Worker&) override {
    memory_ = node_->memory_available();
    shared_ = system::shared_memory();
    tasks_ = system::tasks_left();
    space_ = node_->free_bytes(node_->scratch_path());
  }
  void report(const Repetition&, MetricSink& sink) const override {
    sink.put("cpu_cores", cores_);
    sink.put("memory_available", static_cast<double>(memory_));
    sink.put("shared_memory_available", static_cast<double>(std::min(memory_, shared_ ? shared_->free : 0)));
    sink.put("processes_available", static_cast<double>(tasks_.count));
    sink.put("open_files", static_cast<double>(open_files_));
    if (!node_->makes_objects()) sink.put("free_space", static_cast<double>(space_));
  }

 private:
  Node* node_ = nullptr;
  unsigned cores_ = 0;
  std::uint64_t memory_ = 0, space_ = 0;
  std::optional<system::SharedMemory> shared_;
  system::TasksLeft tasks_;
  std::uint64_t open_files_ = 0;
};

const Register<HostFacts> registered_host_facts{
    "host_facts", "cores, memory, limits of processes and free space that a job may use here"};
}  // namespace
