// Collective operations over MPI in host memory, timed as nccl-tests times NCCL: many calls in a
// row, the slowest rank's time, busbw by formula F1; data checked exactly. One workload per
// operation, all made here.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/backends/ranks.h"
#include "harness/workload.h"
#include "workloads/network/collective_groups.h"
#include "workloads/network/expected_sums.h"

namespace headrace::network {

template <Collective kWhat>
class MpiCollective final : public Workload {
 public:
  explicit MpiCollective(Params& p)
      : message_size_(p.bytes(
            "message_size", 25_MiB, {.min = 4, .max = 8589934588.0, .multiple_of = 4},
            "bytes of one call; of the whole buffer where each rank has a part of it; need: "
            "those of the job's own calls")),
        in_place_(p.flag("in_place", false, "the result replaces what is sent")),
        calls_(p.count("calls", 0, {.min = 0, .max = 1e7},
                       "timed calls of one repetition; 0 = as many as take about 0.2 s")),
        groups_(p) {}

  static std::span<const Metric> metrics() { return kCollectiveMetrics; }
  AcrossRanks across_ranks() const override { return AcrossRanks::first; }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = (in_place_ ? 1 : 2) * message_size_;
    return f;
  }

  std::optional<Skip> check(Node& node) override {
    if (node.ranks().size() == 1)
      return Skip{"one process alone: start several, as in mpirun -n 8 headrace run ..."};
    std::vector<RankPlace> places;
    for (const unsigned rank : node.team()) places.push_back(node.ranks().places()[rank]);
    return groups_.split(std::move(places), kWhat, message_size_);
  }

  void prepare(Node& node, const DataProgress&) override {
    ranks_ = &node.ranks();
    team_ = node.team();
    own_ = groups_.of(node.team_index());
    if (own_) {
      std::vector<unsigned> members;
      for (const unsigned i : groups_[*own_]) members.push_back(team_[i]);
      group_ = node.backends().mpi().group(members);
      count_ = groups_.count(*own_, kWhat, message_size_);
      in_.assign(count_, 0.0f);
      if (!in_place_) out_.assign(count_, 0.0f);
      check_data();
    }
    const double each_s = time_of_call();
    constexpr double kRepetition_s = 0.2, kMost = 200'000, kBatch_s = 10e-6;
    chosen_ = calls_ != 0
                  ? calls_
                  : static_cast<std::uint64_t>(std::clamp(kRepetition_s / each_s, 5.0, kMost));
    batch_ = static_cast<std::uint32_t>(std::clamp(std::round(kBatch_s / each_s), 1.0, 1000.0));
  }
  void before_phase(unsigned, unsigned, std::uint64_t) override {
    if (own_) expected().fill(in_.data(), in_place_);
  }

  void run(Worker& worker) override {
    if (!own_) return;
    float* out = in_place_ ? in_.data() : out_.data();
    group_->barrier();
    begin_ns_ = end_ns_ = now_ns();
    for (std::uint64_t left = chosen_; left > 0;) {
      const auto batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, batch_));
      for (std::uint32_t i = 0; i < batch; ++i) group_->run(kWhat, in_.data(), out, count_);
      const std::uint64_t end = now_ns();
      worker.recorder.ops(end_ns_, end, batch, batch * bytes());
      end_ns_ = end;
      left -= batch;
    }
    check_data();  // once more, after the load
  }

  void report(const Repetition&, MetricSink& sink) const override {
    const double own_s =
        1e-9 * static_cast<double>(end_ns_ - begin_ns_) / static_cast<double>(chosen_);
    const auto said = ranks_->gather("time of one call", team_, fmt::format("{}", own_s), kWords_s);
    std::vector<double> times(groups_.size(), 0);
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (const unsigned i : groups_[g]) times[g] = std::max(times[g], std::stod(said.at(i)));
    groups_.report(times, kWhat, message_size_, sink);
  }

  std::optional<GroupShape> group() const override { return groups_.shape(); }
  std::vector<std::string> notes() override {
    std::vector<std::string> all;
    if (std::string words = groups_.words(); !words.empty()) all.push_back(std::move(words));
    if (batch_ > 1)
      all.push_back(fmt::format(
          "calls are short: {} are timed together, and latencies are their means", batch_));
    return all;
  }
  void cleanup(Node&) override {
    group_.reset();
    in_ = out_ = {};
  }

 private:
  static constexpr double kWords_s = 60;

  std::uint64_t bytes() const { return count_ * sizeof(float); }
  ExpectedSums expected() const { return {kWhat, group_->rank(), group_->size(), count_}; }

  void check_data() {
    const ExpectedSums data = expected();
    data.fill(in_.data(), in_place_);
    std::vector<float>& out = in_place_ ? in_ : out_;
    group_->run(kWhat, in_.data(), out.data(), count_);
    // MPI leaves a reduce_scatter's part at the begin, in place too.
    if (const auto why = data.wrong(out.data(), 0, data.results())) throw RunError(*why);
  }
  /// What one call takes in the slowest group [s], the same for all: from a few calls, and again
  /// from many where they are short.
  double time_of_call() {
    double each_s = slowest(time_of(5));
    if (each_s < 20e-6) each_s = slowest(time_of(500));
    return each_s;
  }
  double time_of(unsigned calls) {
    if (!own_) return 0;
    float* out = in_place_ ? in_.data() : out_.data();
    group_->barrier();
    const std::uint64_t begin = now_ns();
    for (unsigned i = 0; i < calls; ++i) group_->run(kWhat, in_.data(), out, count_);
    return 1e-9 * static_cast<double>(now_ns() - begin) / calls;
  }
  double slowest(double own_s) {
    double most_s = 1e-7;
    for (const std::string& said :
         ranks_->gather("time of one call", team_, fmt::format("{}", own_s), kWords_s))
      most_s = std::max(most_s, std::stod(said));
    return most_s;
  }

  std::uint64_t message_size_;
  bool in_place_;
  std::uint64_t calls_, chosen_ = 1, count_ = 0;
  std::uint32_t batch_ = 1;  // calls between two looks at the clock
  CollectiveGroups groups_;
  Ranks* ranks_ = nullptr;
  std::vector<unsigned> team_;
  std::optional<std::size_t> own_;  // this rank's group
  std::unique_ptr<MpiGroup> group_;
  std::vector<float> in_, out_;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace headrace::network
