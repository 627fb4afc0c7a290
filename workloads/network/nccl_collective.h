// Collective operations of GPUs over NCCL, timed as nccl-tests does. Many run in a row, queued on every GPU, until the
// last ends. Each operation is a workload of its own that derives from this.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/expected_sums.h"
#include "harness/backends/gpu.h"
#include "harness/backends/nccl.h"
#include "harness/record/ranks/ranks.h"
#include "harness/workload/ranks/team.h"
#include "harness/workload/workload.h"
#include "workloads/gpu/gpu_watch.h"
#include "workloads/network/collective_groups.h"

namespace headrace::network {

/// One GPU per rank; where this process is alone, all GPUs that it sees.
class NcclCollective : public Workload, public JoinsRanks, public UsesDevices, public ReportsFacts {
 public:
  NcclCollective(Params& p, Collective what);
  ~NcclCollective() override;

  static std::span<const Metric> metrics() { return kCollectiveMetrics; }
  static constexpr WorkloadTraits kTraits{.across_ranks = AcrossRanks::first};
  Footprint footprint() const override;

  /// For all ranks: all report what one of them lacks.
  std::optional<Skip> check(Node& node) override;
  void prepare(Node& node, const DataProgress&) override;
  void before_phase(unsigned, unsigned, std::uint64_t) override;
  void before_run(Worker&) override { meet("start together", kWords_s); }
  void run(Worker& worker) override;
  /// The disturbance of the GPUs of all ranks.
  std::string disturbance() override;
  void report(const Repetition&, MetricSink& sink) const override;
  std::vector<PartFault> faults() override { return watch_.faults(); }
  std::vector<WrongBlock> verify(const DataProgress&) override;
  std::vector<std::string> notes() override { return notes_; }
  Facts facts() override { return facts_; }
  std::optional<GroupShape> group() const override { return groups_.shape(); }
  void cleanup(Node&) override;

 private:
  // Between the first rank that is done with a step and the last.
  static constexpr double kWords_s = 60, kStep_s = 600;
  static constexpr double kRepetition_s = 0.2;
  static constexpr double kLongest_s = 60;    // of an operation that is repeated
  static constexpr double kSlowestBus = 5e7;  // of a network that still works [B/s]
  static constexpr std::size_t kManyRanks = 4096;
  static constexpr std::uint64_t kMostCalls = 200'000;
  static constexpr double kMostMemory = 0.9;  // of the free memory, for buffers: the driver and NCCL need some

  struct End;   // one GPU of this process
  struct Part;  // this process's members of one group

  static Numbers numbers(Params& p, Collective what);
  std::optional<Skip> check_here(Node& node);
  /// A rank each, or a GPU each of the only process.
  static std::vector<RankPlace> places_of(Node& node);
  bool several() const { return team_->size() > 1; }
  void add_part(Node& node, std::size_t g);
  /// By the library's own allocator where it has one.
  std::unique_ptr<GpuMemory> allocate(Node& node, unsigned gpu, std::uint64_t bytes);
  /// Each group is named by its first member, and all groups are joined at the same time.
  void join(NcclBackend& nccl);

  void meet(const char* what, double timeout_s) { team_->barrier(what, timeout_s); }
  /// That many operations of every group, all groups in parallel; until all are done.
  void operate(std::uint64_t times, double patience_s, bool meet);

  /// All do a step that may hang or fail, within `timeout_s` of each other. Where it fails for one, the groups are
  /// ended everywhere, and the missing rank is reported.
  void guarded(const char* what, double timeout_s, const std::function<void()>& step);
  /// Who does not answer any more, or is behind; "" when that reports nothing.
  std::string roll_call() const;

  void for_each_end(const std::function<void(const Part&, End&)>& step);

  void fill(const Part& part, End& end);
  void check(const Part& part, End& end);
  /// One operation of known numbers; every result is looked at. How long it took.
  double check_data();

  /// The number of operations that take about `seconds` in the slowest group: the same for all ranks.
  std::uint64_t calls_for(double seconds);
  double seconds_of(unsigned times, double more_s = 0);
  double operation_s(unsigned times) const;
  double slowest_of_all(double own_s);
  /// The patience for the operations that are queued at once. Those of a large message take long over a slow network.
  double patience_s() const;
  /// Busbw over algbw, of a group of `n`.
  double factor(std::size_t n) const;
  double imbalance_of(std::size_t n) const;

  std::string of_all_ranks(const std::string& own);
  /// What NCCL decided, on all ranks, and the settings that it found.
  void report_facts(Node& node);

  const Collective what_;
  const std::uint64_t message_size_;
  const bool in_place_;
  const Numbers of_;
  const std::uint64_t calls_, batch_;
  const bool graph_;
  const NcclRegistration registration_;
  const std::string allocator_;
  const std::uint64_t offset_;
  const double imbalance_;
  const double join_s_, peer_s_;
  CollectiveGroups groups_;
  std::unique_ptr<ranks::Team> team_;
  unsigned gpu_ = 0;  // of a process among several
  std::uint64_t chosen_ = 1;
  std::uint64_t most_at_once_ = kMostCalls;  // of operations, so that they end within the patience
  bool connected_ = false;                   // an operation was made: only what comes later is recorded as a graph
  double slowest_s_ = 0;                     // of this process's groups, all operations of a repetition
  gpu::GpuWatch watch_;                      // of this process's GPUs
  std::vector<Part> parts_;
  std::string memory_;        // how it was allocated
  bool took_buffers_ = true;  // the library registered them
  std::string broken_;
  std::vector<std::string> notes_;
  Facts facts_;
};

}  // namespace headrace::network
