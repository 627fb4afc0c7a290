// Collective operations over MPI in host memory, timed as nccl-tests times NCCL: many calls in a
// row, the slowest rank's time, busbw by formula F1; data checked exactly. One workload per
// operation, all made here.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/collective.h"
#include "harness/backends/ranks.h"
#include "harness/workload.h"

namespace headrace::network {

inline constexpr std::array kCollectiveMetrics{
    Metric{"busbw", "B/s", Better::higher, "Bus bandwidth: what each link carried (formula F1)"},
    Metric{"algbw", "B/s", Better::higher,
           "Algorithm bandwidth: message size over time of one call"},
    Metric{"time_s", "s", Better::lower, "Time of one call, the slowest rank's"},
};

/// What `what` must leave, element by element, when each rank brings value(rank, i). Sums stay
/// small whole numbers, so that float holds them exactly, in whatever order they were added.
class ExpectedData {
 public:
  ExpectedData(Collective what, unsigned rank, unsigned size, std::uint64_t count)
      : what_(what), rank_(rank), size_(size), count_(count), part_(count / size) {}

  static float value(unsigned rank, std::uint64_t i) {
    return static_cast<float>((rank * 5 + i) % 7 + 1);
  }

  /// Fills what this rank brings. In place, all_gather's own part lies where it will be in the end.
  void fill(std::vector<float>& in, bool in_place) const {
    std::fill(in.begin(), in.end(), 0.0f);
    const bool own_part = what_ == Collective::all_gather;
    const std::uint64_t begin = own_part && in_place ? rank_ * part_ : 0;
    for (std::uint64_t i = 0; i < (own_part ? part_ : count_); ++i) in[begin + i] = value(rank_, i);
  }
  /// The first element of `out` that is wrong.
  std::optional<std::string> wrong(const std::vector<float>& out) const {
    const std::uint64_t checked = what_ == Collective::reduce_scatter ? part_ : count_;
    for (std::uint64_t i = 0; i < checked; ++i) {
      if (const float right = expected(i); out[i] != right)
        return fmt::format("wrong data: element {} is {}, must be {}", i, out[i], right);
    }
    return std::nullopt;
  }

 private:
  float sum(std::uint64_t i) const {
    float total = 0;
    for (unsigned r = 0; r < size_; ++r) total += value(r, i);
    return total;
  }
  float expected(std::uint64_t i) const {
    switch (what_) {
      case Collective::all_reduce:
        return sum(i);
      case Collective::all_gather:
        return value(static_cast<unsigned>(i / part_), i % part_);
      case Collective::reduce_scatter:
        return sum(rank_ * part_ + i);
      case Collective::broadcast:
        return value(0, i);
      case Collective::all_to_all:
        return value(static_cast<unsigned>(i / part_), rank_ * part_ + i % part_);
      case Collective::send_recv:
        return value((rank_ + size_ - 1) % size_, i);
    }
    return 0;
  }

  Collective what_;
  unsigned rank_, size_;
  std::uint64_t count_, part_;
};

template <Collective kWhat>
class MpiCollective final : public Workload {
 public:
  explicit MpiCollective(Params& p)
      : message_size_(
            p.bytes("message_size", 25_MiB, {.min = 4, .max = 8589934588.0, .multiple_of = 4},
                    "bytes of one call; of the whole buffer where each rank has a part of it")),
        in_place_(p.flag("in_place", false, "the result replaces what is sent")),
        calls_(p.count("calls", 0, {.min = 0, .max = 1e7},
                       "timed calls of one repetition; 0 = as many as take about 0.2 s")) {}

  static std::span<const Metric> metrics() { return kCollectiveMetrics; }
  AcrossRanks across_ranks() const override { return AcrossRanks::slowest; }
  Footprint footprint() const override {
    Footprint f;
    f.memory_bytes = (in_place_ ? 1 : 2) * message_size_;
    return f;
  }

  std::optional<Skip> check(Node& node) override {
    const auto n = static_cast<unsigned>(node.team().size());
    if (node.ranks().size() == 1)
      return Skip{"one process alone: start several, as in mpirun -n 8 headrace run ..."};
    if (n == 1) return Skip{"a group of one rank moves nothing"};
    if (message_size_ / sizeof(float) < n && has_parts(kWhat))
      return Skip{
          fmt::format("message_size: {} bytes are less than one element for each of {} ranks",
                      message_size_, n)};
    return std::nullopt;
  }

  void prepare(Node& node, const DataProgress&) override {
    group_ = node.backends().mpi().group(node.team());
    count_ = message_size_ / sizeof(float);
    if (has_parts(kWhat)) count_ -= count_ % group_->size();
    in_.assign(count_, 0.0f);
    if (!in_place_) out_.assign(count_, 0.0f);
    check_data();
    chosen_ = calls_ != 0 ? calls_ : calls_for(node, 0.2);
  }
  void before_phase(unsigned, unsigned, std::uint64_t) override {
    ExpectedData(kWhat, group_->rank(), group_->size(), count_).fill(in_, in_place_);
  }

  void run(Worker& worker) override {
    float* out = in_place_ ? in_.data() : out_.data();
    group_->barrier();
    begin_ns_ = end_ns_ = now_ns();
    for (std::uint64_t i = 0; i < chosen_; ++i) {
      group_->run(kWhat, in_.data(), out, count_);
      const std::uint64_t end = now_ns();
      worker.recorder.op(end_ns_, end, bytes());
      end_ns_ = end;
    }
    check_data();  // once more, after the load
  }

  void report(const Repetition&, MetricSink& sink) const override {
    const double time_s =
        1e-9 * static_cast<double>(end_ns_ - begin_ns_) / static_cast<double>(chosen_);
    const double algbw = static_cast<double>(bytes()) / time_s;
    sink.put("busbw", algbw * bus_factor(kWhat, group_->size()));
    sink.put("algbw", algbw);
    sink.put("time_s", time_s);
  }
  void cleanup(Node&) override {
    group_.reset();
    in_ = out_ = {};
  }

 private:
  std::uint64_t bytes() const { return count_ * sizeof(float); }

  void check_data() {
    const ExpectedData data(kWhat, group_->rank(), group_->size(), count_);
    data.fill(in_, in_place_);
    std::vector<float>& out = in_place_ ? in_ : out_;
    group_->run(kWhat, in_.data(), out.data(), count_);
    if (const auto why = data.wrong(out)) throw RunError(*why);
  }
  /// So many calls as take about `seconds`: the same for all ranks.
  std::uint64_t calls_for(Node& node, double seconds) {
    float* out = in_place_ ? in_.data() : out_.data();
    constexpr unsigned kTried = 5;
    group_->barrier();
    const std::uint64_t begin = now_ns();
    for (unsigned i = 0; i < kTried; ++i) group_->run(kWhat, in_.data(), out, count_);
    const double each_s = std::max(1e-7, 1e-9 * static_cast<double>(now_ns() - begin) / kTried);
    const auto calls = static_cast<std::uint64_t>(std::clamp(seconds / each_s, 5.0, 200'000.0));
    const auto said =
        node.ranks().gather("the number of calls", node.team(), std::to_string(calls), 60);
    return std::stoull(said.front());
  }

  std::uint64_t message_size_;
  bool in_place_;
  std::uint64_t calls_, chosen_ = 1, count_ = 0;
  std::unique_ptr<MpiGroup> group_;
  std::vector<float> in_, out_;
  std::uint64_t begin_ns_ = 0, end_ns_ = 0;
};

}  // namespace headrace::network
