// The barrier of data-parallel training over several nodes: a step ends for all of them when the slowest one's does.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/record/ranks/ranks.h"
#include "harness/record/recorder.h"
#include "harness/workload/network/tcp_mesh.h"

namespace headrace::pipeline {

/// The lead of a neighbour's clock over the own one [ns], between bounds from every exchange of messages. A message is
/// received after it was sent. Contradicting bounds show that the clocks drift; the newest hold then.
class ClockAhead {
 public:
  void at_least(std::int64_t ns) noexcept {
    low_ = std::max(low_, ns);
    if (low_ > high_) high_ = low_;
  }
  void at_most(std::int64_t ns) noexcept {
    high_ = std::min(high_, ns);
    if (high_ < low_) low_ = high_;
  }
  std::int64_t ns() const noexcept { return low_ + (high_ - low_) / 2; }

 private:
  static constexpr std::int64_t kUnknown = INT64_MAX / 4;
  std::int64_t low_ = -kUnknown, high_ = kUnknown;
};

/// Nodes are a tree. Each reports to the one above when its own step and those below end, and hears when all do. That
/// is known as soon as the last batch of a step was taken, so messages travel while GPUs compute. A step takes longer
/// only where it is shorter than their travel. Each node has its times by its own clock, CLOCK_MONOTONIC [ns]. Nothing
/// here allocates between begin() and the last meet().
class StepBarrier {
 public:
  /// Called by all of `team` together, untimed. Throws RunError: which rank cannot be reached, and why.
  StepBarrier(Ranks& ranks, const std::vector<unsigned>& team);

  // By one thread of each node, all together:

  /// Before the first step of a phase: looks how far the neighbours' clocks are apart. False: it is over.
  bool begin(const Recorder& recorder) noexcept;

  struct End {
    bool over = false;  // a rank has no more data or time, or is gone: this step ended for none
    std::uint64_t end_ns = 0;
  };
  /// The own step ends at `end_ns`, which may be in the future: when does the step of all end?
  End meet(std::uint64_t end_ns, const Recorder& recorder) noexcept;
  /// There will be no more steps.
  void leave() noexcept;

  /// The rank that fell silent within a phase: "rank 3 (node4)"; "" = none. After the phase.
  std::string lost() const;

 private:
  enum class Kind : std::uint32_t { ask, answer, step, met, over };
  /// On the wire; times by the clock of the node that is above.
  struct Word {
    Kind kind = Kind::ask;
    std::uint32_t phase = 0;
    std::uint64_t end_ns = 0;
    std::uint64_t said_ns = 0;   // by the sender's clock
    std::uint64_t heard_ns = 0;  // when the answered message was received
  };
  static constexpr unsigned kBelow = 8;  // neighbours below one node, at most

  bool say(int socket, unsigned neighbour, Word word) noexcept;
  /// The next word of this phase; false: there is none, and it is over.
  bool hear(int socket, unsigned neighbour, Word& word, const Recorder& recorder) noexcept;
  void say_over() noexcept;

  Ranks& ranks_;
  const std::vector<unsigned> team_;
  const unsigned self_;
  unsigned above_ = 0;
  std::vector<unsigned> below_;
  std::unique_ptr<TcpMesh> mesh_;
  ClockAhead above_ahead_;
  std::uint32_t phase_ = 0;
  bool over_ = false;
  int lost_ = -1;
};

}  // namespace headrace::pipeline
