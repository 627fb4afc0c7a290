// What rdma_write, rdma_read and rdma_send share. Pairs of ranks meet in turn, the data of each turn is checked, and
// each pair has its results. Everything but which operation moves the data.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/backends/rdma.h"
#include "harness/machine/network/rdma_wire.h"
#include "harness/workload/network/paired.h"
#include "workloads/network/pair_schedule.h"
#include "workloads/network/port_lines.h"
#include "workloads/network/rdma_area.h"
#include "workloads/network/rdma_end.h"
#include "workloads/network/rdma_link.h"
#include "workloads/network/rdma_traffic.h"

namespace headrace::network {

// One of the ports that a rank drives at once, with its memory, queue pairs, and links to partners.

struct RdmaRail {
  std::size_t way = 0;  // of RdmaEnd's
  unsigned slot = 0;    // among the rank's ports, with those that are down: the same at a partner is its other end
  unsigned gpu = 0;
  std::unique_ptr<RdmaEndpoint> endpoint;
  std::unique_ptr<RdmaArea> area;  // goes before the endpoint
  std::vector<RdmaLink> links;     // one per partner; go before both
  std::exception_ptr trouble;      // what went wrong in a turn; stays, unless only one link is left out for it

  RdmaLink* link(unsigned partner) {
    const auto at = std::find_if(links.begin(), links.end(), [&](const RdmaLink& l) { return l.partner() == partner; });
    return at == links.end() ? nullptr : &*at;
  }
};

inline constexpr std::array kRdmaMetrics{
    Metric{"bandwidth", "B/s", Better::higher,
           "Of the median pair: payload of all messages over the time from the first post to the last completion; both "
           "directions at once, and all ports of a rank, together",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"slowest_bandwidth", "B/s", Better::higher, "The same of the slowest pair, if there are several",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"nic_bandwidth", "B/s", Better::higher,
           "One way, from a port of one host to a port of another, of the slowest pair; both directions at once: the "
           "slower one",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"total_bandwidth", "B/s", Better::higher,
           "Of all pairs that meet in one turn, added; of the slowest turn, where several meet in one",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"message_rate", "1/s", Better::higher, "Messages per second of the median pair"},
    Metric{"line_share", "ratio", Better::higher, "bandwidth of one direction over the line rate of the rank's ports"},
    Metric{"lost_share", "ratio", Better::lower,
           "transport: ud: messages that did not arrive over those sent, of all pairs; bandwidth counts what arrived"},
    Metric{"time_s", "s", Better::lower, "measure: latency: one message to the other end, mean of the median pair"},
    Metric{"slowest_latency_ns", "ns", Better::lower,
           "measure: latency: mean of the slowest pair; where there are several"},
};

/// In a pair that meets, the first end moves the data (with `direction: both`, each does), the second answers.
class RdmaPair : public Paired, public JoinsRanks {
 public:
  RdmaPair(Params& p, std::string_view name, RdmaOp op);
  ~RdmaPair() override;

  static std::span<const Metric> metrics() { return kRdmaMetrics; }
  /// Only latencies; the first reports the rest.
  static constexpr WorkloadTraits kTraits{.across_ranks = AcrossRanks::slowest};
  Footprint footprint() const override;
  unsigned workers() const override { return rails_.empty() ? 1 : static_cast<unsigned>(rails_.size()); }
  std::optional<PairMatrix> pairs() const override;
  std::vector<std::string> notes() override { return notes_; }
  std::string why_missing(std::string_view metric) const override;

  void run(Worker& worker) override;
  void conclude() override;

 protected:
  std::optional<Skip> check_here(Node& node) override;
  void set_up(Node& node, Ranks& ranks, const DataProgress&) override;
  void make_ready(unsigned, std::uint64_t seed) override;
  void start(Worker&) override;
  void report_pair(const Repetition& repetition, MetricSink& sink) const override;
  void take_down(Node&) override;

 private:
  static constexpr double kConnect_s = 30;
  static constexpr double kResolve_s = 3;  // an address that does not answer takes this long
  static constexpr double kSlack_s = 60;   // for others to fill their buffers, and to check their data
  static constexpr double kOverrun = 4;    // messages in flight at the end of `time` still have to arrive

  /// What one meeting gave: B/s, or the latency [ns].
  struct Met {
    PairSchedule::Meeting of;
    std::size_t turn;
    double value;
    double one_way = 0;  // B/s of the slower direction of the slowest port
    bool between_hosts = false;
  };
  /// Which ports a rank drives, as all are reported.
  using Ports = std::vector<Rail>;

  /// A peer that was given up is not waited for again; of several ranks others may still be at it.
  double wait_s(double longest_s) const { return peer() && trouble() ? end_.patience_s() : longest_s; }

  static std::optional<unsigned> wanted_gpu(Params& p);
  static unsigned wanted_rails(Params& p);

  std::uint64_t key_of(unsigned rank, unsigned slot) const {
    return seed_ + (rank + std::uint64_t{slot} * ranks_->size()) * 0x9e3779b97f4a7c15u;
  }
  bool between_hosts(const PairSchedule::Meeting& m) const { return ranks_->host(m.from) != ranks_->host(m.to); }

  /// Why no pair shows what a port gives: "" = they do.
  std::string why_no_port() const;

  void choose_ports(GpuBackend* gpus, RdmaBackend& rdma);
  void check_size(const RdmaPort& port) const;
  /// Whom this rank or another meets by its port in `slot`.
  std::vector<unsigned> partners(unsigned rank, unsigned slot) const;
  bool has(unsigned rank, unsigned slot) const;

  /// Memory and queue pairs of one port to all partners; its card.
  std::string open(Node& node, RdmaRail& rail);
  /// `cards`: what each rank's open() said, by slot.
  void connect_all(const std::vector<std::string>& cards);
  template <class Wanted>
  void connect_some(const std::vector<std::string>& cards, const Wanted& wanted);
  void connect_to(RdmaRail& rail, RdmaLink& link, const std::string& cards);
  void note_ways();

  /// The link of a port to a partner; nullptr: there is none, or it is left out.
  RdmaLink* link_to(RdmaRail& rail, unsigned partner) const;
  /// Does nothing get through between two ranks' ports?
  bool is_left_out(const PairSchedule::Meeting& m, unsigned slot) const;
  /// Do two ranks both drive a port in `slot`, that are not left out?
  bool joined(const PairSchedule::Meeting& m, unsigned slot) const;
  bool joined(const PairSchedule::Meeting& m) const;
  /// Is nothing of the turn left out?
  bool whole(const PairSchedule::Turn& turn) const;
  /// The row and column of the matrix.
  unsigned end_of(unsigned rank, unsigned slot) const;
  /// For leave_out() of this rank: no message gets from a port to `partner`. Throws other trouble of the port.
  std::string describe_cut(const RdmaRail& rail, unsigned partner) const;
  /// Links that one of their ends `said` nothing gets through are left out from now on, on all ranks alike. The first of
  /// `reporters` says why. Throws RunError where none is left to measure.
  void leave_out(const std::vector<std::string>& said, const std::vector<unsigned>& reporters);
  void leave_out_after_turn(const std::vector<std::string>& said);
  void give_up(RdmaRail& rail, unsigned partner) noexcept;

  /// The meeting of this rank in a turn, and whom it meets; false: it rests.
  bool meets(std::size_t turn, unsigned& partner, bool& leads) const;

  /// All ranks come to each turn together; not timed. Before it, the last one's data is checked.
  void begin_turn();

  /// Trouble is kept until all ranks come together again: then it is reported.
  void move(RdmaRail& rail, Recorder& recorder) noexcept;
  std::exception_ptr trouble() const;

  void exchange_moved_bytes();
  void add_up(const std::vector<std::vector<RdmaMoved>>& moved);

  /// What came in a turn, as reported by exchange_moved_bytes(). Throws RunError.
  std::string check_data(std::size_t turn);

  RdmaTraffic traffic_;
  const std::string schedule_name_;
  const std::uint64_t most_turns_;
  const bool on_gpu_;
  const std::optional<unsigned> wanted_gpu_;  // none: the nearest to the port
  const unsigned most_rails_;                 // of each rank at once; 0 = its share of the node's
  RdmaEnd end_;

  Ranks* ranks_ = nullptr;
  std::vector<Ports> ports_;  // of each rank
  PortLines lines_;           // of this rank's ports
  unsigned slots_ = 1;        // of the rank that has most
  PairSchedule schedule_;
  std::vector<std::unique_ptr<RdmaRail>> rails_;  // a worker each
  std::vector<UnreachedPair> unreached_;          // of the matrix's ends, the same on every rank; stay left out
  std::set<std::pair<unsigned, unsigned>> cut_;   // the same, each pair in order
  bool any_got_through_ = false;
  std::uint64_t seed_ = 0;
  std::size_t turn_ = 0;
  std::unique_ptr<std::barrier<>> together_;  // this rank's workers, between turns
  std::atomic<bool> failed_{false};           // one of them has left
  std::vector<RdmaMoved> partners_;           // of the last turn: what the other end moved, by slot
  std::vector<Met> met_;                      // of this repetition
  double sent_ = 0, arrived_ = 0;             // datagrams of this repetition
  PairMatrix matrix_;
  std::string why_no_port_;
  std::vector<std::string> notes_;
};

}  // namespace headrace::network
