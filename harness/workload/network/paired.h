// A workload that needs a second process: the ranks of the point's team, or the follower that `headrace run --serve` is. Both
// ends go through the same life; a leader reports its follower each step of it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/record/ranks/peer.h"
#include "harness/workload/workload.h"

namespace headrace {

class Paired : public Workload {
 public:
  std::optional<Skip> check(Node& node) final;
  void prepare(Node& node, const DataProgress& progress) final;
  void before_phase(unsigned phase, unsigned repetition, std::uint64_t seed) final;
  void before_run(Worker& worker) final;
  void report(const Repetition& repetition, MetricSink& sink) const final;
  void cleanup(Node& node) final;

  /// The work of both ends after a repetition, untimed: checks its data, reports its figures to the other end.
  virtual void conclude() = 0;

 protected:
  /// `name` as registered.
  explicit Paired(std::string_view name) : name_(name) {}
  /// Last in the constructor of a workload. The other end reads the same parameters, except those `of_this_end`, which
  /// name parts of this machine.
  void share(const Params& params, std::span<const std::string_view> of_this_end = {});

  // The same steps as in Workload, with all participants present.
  virtual std::optional<Skip> check_here(Node&) { return std::nullopt; }
  virtual void set_up(Node&, Ranks&, const DataProgress&) = 0;
  virtual void make_ready(unsigned phase, std::uint64_t seed) = 0;
  virtual void start(Worker&) {}
  virtual void report_pair(const Repetition&, MetricSink&) const = 0;
  virtual void take_down(Node&) = 0;

  /// The peer where there is one; else nullptr.
  const Peer* peer() const { return peer_; }

 private:
  void step(std::string_view what) const;
  Ranks& others(Node& node);
  std::string name_, parameters_;
  Peer* peer_ = nullptr;
  std::unique_ptr<Ranks> team_;  // until the next point
  bool prepared_ = false;
};

}  // namespace headrace
