// Collective operations over MPI in host memory, timed as nccl-tests times NCCL. That means many calls in a row, the
// slowest rank's time, busbw by formula F1. Data checked exactly. Each operation is a workload of its own that derives
// from this.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/backends/expected_sums.h"
#include "harness/record/ranks/ranks.h"
#include "harness/workload/ranks/team.h"
#include "harness/workload/workload.h"
#include "workloads/network/collective_groups.h"

namespace headrace::network {

class MpiCollective : public Workload, public JoinsRanks {
 public:
  MpiCollective(Params& p, Collective what);

  static std::span<const Metric> metrics() { return kCollectiveMetrics; }
  static constexpr WorkloadTraits kTraits{.across_ranks = AcrossRanks::first};
  Footprint footprint() const override;

  std::optional<Skip> check(Node& node) override;
  void prepare(Node& node, const DataProgress&) override;
  void before_phase(unsigned, unsigned, std::uint64_t) override;
  void run(Worker& worker) override;
  void report(const Repetition&, MetricSink& sink) const override;
  std::optional<GroupShape> group() const override { return groups_.shape(); }
  std::vector<std::string> notes() override;
  void cleanup(Node&) override;

 private:
  // Between the first rank that is done with a step and the last.
  static constexpr double kWords_s = 60, kStep_s = 600;

  std::uint64_t bytes() const { return count_ * sizeof(float); }
  ExpectedSums expected() const;
  /// One call of known numbers, whose result is looked at. Throws RunError.
  void check_data();
  /// The time of one call in the slowest group [s], the same for all. From a few calls, and again from many where they
  /// are short.
  double time_of_call();
  double time_of(unsigned calls);
  double slowest_of_all(double own_s);

  Collective what_;
  std::uint64_t message_size_;
  bool in_place_;
  std::uint64_t calls_, chosen_ = 1, count_ = 0;
  std::uint32_t batch_ = 1;  // calls between two looks at the clock
  CollectiveGroups groups_;
  std::unique_ptr<ranks::Team> team_;
  std::optional<std::size_t> own_;  // this rank's group
  std::unique_ptr<MpiGroup> group_;
  std::vector<float> in_, out_;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace headrace::network
