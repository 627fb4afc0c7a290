// tcp_stream - TCP between pairs of ranks, several streams at once. The baseline for RDMA, and the rate of networks
// without it. Each pair is measured in both directions, one after the other. The result is a matrix, and the ends to
// blame.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "harness/backends/loader.h"
#include "harness/backends/stream_io.h"
#include "harness/machine/network/network_ports.h"
#include "harness/record/pair_matrix.h"
#include "harness/record/ranks/rank_groups.h"
#include "harness/record/ranks/ranks.h"
#include "harness/workload/network/paired.h"
#include "harness/workload/network/tcp_mesh.h"
#include "harness/workload/workload.h"

namespace {
using namespace headrace;

constexpr std::array kTcpStreamMetrics{
    Metric{"bandwidth", "B/s", Better::higher, "Payload from one node to another, the median over the pairs measured",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"slowest_bandwidth", "B/s", Better::higher, "The same of the slowest pair",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"nic_bandwidth", "B/s", Better::higher,
           "The same, where pairs are pairs of nodes that have no RDMA: what a network port gives",
           /*per_device=*/false, /*of_a_line=*/true},
};

constexpr double kPartner_s = 30;  // for the others to come to the next round
constexpr double kLeastTime_s = 0.05;
constexpr const char* kGiveTime = "give a longer `duration` or a shorter `time`";

/// Which ends meet, and in which rounds. Of rails one after the other, so that each shows what it gives alone.
PairRounds rounds_of(const std::string& schedule, unsigned n, unsigned rails) {
  if (schedule == "rails") return rails_rounds(n, rails, false);
  if (schedule == "ring") return ring_rounds(n);
  if (schedule == "bisection") return bisection_rounds(n);
  return all_pairs_rounds(n);
}

/// How much does TCP carry between each two of the nodes?
class TcpStream final : public Paired, public JoinsRanks {
 public:
  explicit TcpStream(Params& p)
      : Paired("tcp_stream"),
        schedule_(p.choice(
            "schedule", "all_pairs", {"all_pairs", "ring", "bisection", "rails"},
            "all_pairs: each with each, every node busy in every round. ring: with the next. bisection: the first half "
            "with the second, all at once. rails: each with each, over one network interface after the other")),
        engine_(p.choice("engine", stream_engines().front(), stream_engines(), list_stream_engines())),
        streams_(static_cast<unsigned>(
            p.count("streams", 1, {.min = 1, .max = 256}, "connections of a pair, a thread each"))),
        block_size_(p.bytes("block_size", 128_KiB, {.min = 64, .max = 64.0 * 1024 * 1024}, "bytes of one send")),
        time_s_(p.seconds("time", 1, {.min = kLeastTime_s, .max = 3600}, "of one direction of a pair")),
        interface_(p.text("interface", "",
                          "of this network interface alone (\"eth1\"); \"\" = any. rails: one a rail "
                          "(\"eth1, eth2\"); \"\" = its network cards, and bonds over them")),
        socket_buffer_(
            p.bytes("socket_buffer", 0, {.min = 0, .max = 1e9}, "of sender and receiver; 0 = the kernel adapts it")) {
    if (!over_rails() && interface_.find(',') != interface_.npos)
      p.conflict("interface", "several are for `schedule: rails`");
    share(p);
  }

  static constexpr WorkloadTraits kTraits{.across_ranks = AcrossRanks::first};
  static std::span<const Metric> metrics() { return kTcpStreamMetrics; }
  unsigned workers() const override { return streams_; }
  std::optional<PairMatrix> pairs() const override { return matrix_; }

  std::vector<std::string> notes() override {
    auto notes = engine_streams_ != nullptr ? engine_streams_->take_notes() : std::vector<std::string>{};
    if (!left_out_.empty()) notes.push_back("no rails: " + std::exchange(left_out_, "") + "; `interface` names others");
    if (!no_time_.empty()) notes.push_back(std::exchange(no_time_, ""));
    return notes;
  }
  std::string why_missing(std::string_view metric) const override {
    return metric == "nic_bandwidth" && !why_no_port_.empty() ? why_no_port_ : why_none_;
  }

  void run(Worker& worker) override {
    struct Leaves {  // the other streams' threads do not wait for one that throws
      TcpStream& of;
      ~Leaves() {
        if (std::uncaught_exceptions() > 0) of.failed_ = true;
        of.together_->arrive_and_drop();
      }
    } leaves{*this};
    const auto n = static_cast<unsigned>(team_.size());
    std::size_t left = 2 * rounds_.size();
    for (const auto& round : rounds_) {  // of one rail each
      const auto mine = std::find_if(round.begin(), round.end(), [&](const auto& pair) {
        return pair.first % n == self_ || pair.second % n == self_;
      });
      for (const bool back : {false, true}) {
        meet(worker);
        lanes_[worker.index].time_s = share_of_time(worker.recorder, left--);
        if (mine == round.end()) continue;
        const unsigned from = (back ? mine->second : mine->first) % n, to = (back ? mine->first : mine->second) % n,
                       rail = mine->first / n;
        if (from == self_)
          send(worker, meshes_[rail]->socket(to, worker.index));
        else
          receive(worker, meshes_[rail]->socket(from, worker.index), from);
        together_->arrive_and_wait();
        if (failed_) throw RunError("another stream failed");
        if (worker.index == 0 && to == self_) add_up(rail * n + from);
      }
    }
    if (worker.index == 0) gather_rates();
  }

  void conclude() override {}  // run() has gathered the rates

 protected:
  std::optional<Skip> check_here(Node& node) override {
    if (const std::string why = node.backends().why_not(engine_); !why.empty()) return Skip{why};
    if (over_rails() && peer() == nullptr && share_a_node(node.ranks(), node.team()))
      return Skip{"rails join nodes: let one process of each take part, processes: per_node"};
    return std::nullopt;
  }

  void set_up(Node& node, Ranks& ranks, const DataProgress&) override {
    ranks_ = &ranks;
    team_ = ranks.everyone();
    self_ = ranks.rank();
    why_no_port_ = why_no_port();
    const auto n = static_cast<unsigned>(team_.size());
    std::vector<std::string> interfaces{interface_};
    if (over_rails()) interfaces = agree_on_rails();
    rounds_ = rounds_of(schedule_, n, static_cast<unsigned>(interfaces.size()));
    meshes_.clear();
    for (unsigned rail = 0; rail < interfaces.size(); ++rail) {
      std::vector<std::pair<unsigned, unsigned>> pairs;
      for (const auto& round : rounds_)
        for (const auto& [a, b] : round)
          if (a / n == rail) pairs.emplace_back(a % n, b % n);
      meshes_.push_back(std::make_unique<TcpMesh>(*ranks_, team_, pairs,
                                                  TcpMesh::Options{.streams = streams_,
                                                                   .buffer = socket_buffer_,
                                                                   .interface = interfaces[rail],
                                                                   .bind = over_rails(),
                                                                   .address = peer_address(),
                                                                   .timeout_s = 10,
                                                                   .partial = true,
                                                                   .both_ways = true}));
    }
    leave_out_unreached();
    engine_streams_ = &node.backends().streams(engine_);
    lanes_.clear();
    lanes_.resize(streams_);
    for (Lane& lane : lanes_) {
      lane.buffer.assign(block_size_, '\0');
      lane.mover = engine_streams_->mover();
    }
  }

  void start(Worker& worker) override { lanes_[worker.index].mover->attach(); }

  void make_ready(unsigned, std::uint64_t) override {
    together_ = std::make_unique<std::barrier<>>(static_cast<std::ptrdiff_t>(streams_));
    received_.assign(meshes_.size() * team_.size(), -1);
    failed_ = false;
    matrix_.reset();
  }

  void report_pair(const Repetition&, MetricSink& sink) const override {
    if (!matrix_) return;  // the first of the team reports
    std::vector<double> rates;
    for (const auto& row : matrix_->rate)
      for (const double rate : row)
        if (rate >= 0) rates.push_back(rate);
    if (rates.empty()) return;
    std::sort(rates.begin(), rates.end());
    const std::size_t n = rates.size();
    sink.put("bandwidth", n % 2 == 1 ? rates[n / 2] : (rates[n / 2 - 1] + rates[n / 2]) / 2);
    if (!why_none_.empty()) return;  // the slowest may be among those without time
    sink.put("slowest_bandwidth", rates.front());
    if (why_no_port_.empty()) sink.put("nic_bandwidth", rates.front());
  }
  void take_down(Node&) override { meshes_.clear(); }

 private:
  /// One stream's thread.
  struct alignas(128) Lane {
    std::vector<char> buffer;
    std::unique_ptr<StreamMover> mover;
    double time_s = 0;        // of this direction
    double bytes_per_s = -1;  // below 0: it had no time
  };
  /// The first byte of each block: more follow, or it is the last of this direction.
  static constexpr char kMore = 'm', kLast = 'l';

  /// The directions that are `left` share the time that the repetition has left; the first always has some.
  double share_of_time(const Recorder& recorder, std::size_t left) const {
    const std::uint64_t now = now_ns(), end = recorder.deadline_ns();
    const double left_s = end > now ? 1e-9 * static_cast<double>(end - now) : 0;
    if (left_s == 0 && left < 2 * rounds_.size()) return 0;
    return std::min(time_s_, std::max(kLeastTime_s, left_s / static_cast<double>(left)));
  }

  /// All ranks come to each direction together; not timed.
  void meet(Worker& worker) {
    if (worker.index == 0) ranks_->gather("the next pairs", team_, "", kPartner_s + time_s_);
    together_->arrive_and_wait();
    if (failed_) throw RunError("another stream failed");
  }

  [[noreturn]] void broken(const char* what, int code) const {
    throw RunError(std::string(what) + ": " + (code == 0 ? "the partner closed the connection" : errno_text(code)));
  }

  /// While nothing moves: is there still an end to wait for?
  void look() const {
    if (const std::string lost = ranks_->lost(); !lost.empty()) throw RunError(lost);
    if (failed_) throw RunError("another stream failed");
  }

  void send(Worker& worker, int socket) {
    StreamMover& mover = *lanes_[worker.index].mover;
    char* block = lanes_[worker.index].buffer.data();
    const std::uint64_t end_ns = now_ns() + static_cast<std::uint64_t>(lanes_[worker.index].time_s * 1e9);
    for (bool last = false; !last;) {
      const std::uint64_t begin_ns = now_ns();
      last = begin_ns >= end_ns || !worker.recorder.running();
      block[0] = last ? kLast : kMore;
      for (std::uint64_t sent = 0; sent < block_size_;) {
        const std::int64_t done = mover.send(socket, {block + sent, block_size_ - sent});
        if (done > 0)
          sent += static_cast<std::uint64_t>(done);
        else if (done != -EAGAIN)
          broken("send", static_cast<int>(-done));
        else
          look();
      }
    }
  }

  /// The rate of the blocks from the first to the last in time. A single block ends a direction without time.
  void receive(Worker& worker, int socket, unsigned from) {
    Lane& lane = lanes_[worker.index];
    char* block = lane.buffer.data();
    std::uint64_t first_ns = 0, last_ns = 0, bytes = 0, begin_ns = now_ns();
    const std::uint64_t end_ns = begin_ns + static_cast<std::uint64_t>(lane.time_s * 1e9);
    for (bool last = false; !last;) {
      for (std::uint64_t got = 0; got < block_size_;) {
        const std::int64_t done = lane.mover->receive(socket, {block + got, block_size_ - got});
        if (done > 0)
          got += static_cast<std::uint64_t>(done);
        else if (done != -EAGAIN)
          broken("receive", static_cast<int>(-done));
        else if (look(); now_ns() > end_ns + static_cast<std::uint64_t>(kPartner_s * 1e9))
          throw RunError("nothing comes any more from " + ranks_->who(team_[from]));
      }
      if (block[0] != kMore && block[0] != kLast) throw RunError("wrong data from " + ranks_->who(team_[from]));
      last = block[0] == kLast;
      const std::uint64_t now = now_ns();
      worker.recorder.op(begin_ns, now, block_size_);
      begin_ns = now;
      if (now > end_ns && last_ns > first_ns) continue;  // still on its way
      if (first_ns == 0)
        first_ns = now;
      else
        bytes += block_size_;
      last_ns = now;
    }
    lane.bytes_per_s =
        last_ns > first_ns ? 1e9 * static_cast<double>(bytes) / static_cast<double>(last_ns - first_ns) : -1;
  }

  /// `end`: the one that sent. Without each stream's rate there is none.
  void add_up(unsigned end) {
    double sum = 0;
    for (const Lane& lane : lanes_) {
      if (lane.bytes_per_s < 0) return;
      sum += lane.bytes_per_s;
    }
    received_[end] = sum;
  }

  /// Directions of the matrix without a rate, as the repetition was over.
  void note_missing() {
    std::size_t all = 0, none = 0;
    for (const auto& round : rounds_)
      for (const auto& [a, b] : round) {
        all += 2;
        none += (matrix_->rate[a][b] < 0) + (matrix_->rate[b][a] < 0);
      }
    why_none_ = none == 0 ? "" : kGiveTime;
    if (none > 0) no_time_ = fmt::format("{} of {} directions had no time: {}", none, all, kGiveTime);
  }

  /// Everyone's row, put together at the first of the team.
  void gather_rates() {
    std::string own(reinterpret_cast<const char*>(received_.data()), received_.size() * sizeof(double));
    const auto rows = ranks_->gather("the rates of the pairs", team_, own, kPartner_s, static_cast<int>(team_.front()));
    if (self_ != 0) return;
    std::vector<std::string> names;
    for (const unsigned rank : team_) names.push_back(name_of(rank));
    if (over_rails())
      matrix_.emplace(names, rails_);
    else
      matrix_.emplace(names);
    matrix_->unreached = unreached_;
    const std::size_t n = team_.size();
    for (std::size_t to = 0; to < rows.size(); ++to) {
      std::vector<double> row(meshes_.size() * n);
      std::memcpy(row.data(), rows[to].data(), std::min(rows[to].size(), row.size() * sizeof(double)));
      for (std::size_t from = 0; from < row.size(); ++from) matrix_->rate[from][from / n * n + to] = row[from];
    }
    note_missing();
  }

  static bool share_a_node(const Ranks& ranks, const std::vector<unsigned>& team) {
    return nodes_of(team, ranks.places()) < team.size();
  }

  /// Why pairs do not show what a port gives the job: "" = they do.
  std::string why_no_port() const {
    if (share_a_node(*ranks_, team_))
      return "several ranks of a node share its port: let one of each take part, processes: per_node";
    for (const NetworkPort& port : network_ports())
      if (port.rdma && port.up)
        return ranks_->host(team_[self_]) + " has RDMA, " + port.name + ": rdma_write measures what that gives";
    return "";
  }

  /// Pairs that cannot be connected are reported, and the others measured.
  void leave_out_unreached() {
    const auto n = static_cast<unsigned>(team_.size());
    unreached_.clear();
    for (unsigned rail = 0; rail < meshes_.size(); ++rail)
      for (const TcpMesh::Unreached& one : meshes_[rail]->unreached())
        unreached_.push_back({rail * n + one.a, rail * n + one.b, one.why});
    for (auto& round : rounds_)
      std::erase_if(round, [&](const auto& pair) {
        return std::any_of(unreached_.begin(), unreached_.end(),
                           [&](const UnreachedPair& one) { return one.a == pair.first && one.b == pair.second; });
      });
    std::erase_if(rounds_, [](const auto& round) { return round.empty(); });
    if (rounds_.empty() && !unreached_.empty())
      throw RunError("none of the pairs can be connected: " + unreached_.front().why);
  }

  /// The network of a peer is that by which it was reached.
  std::string peer_address() const {
    return peer() != nullptr && interface_.empty() && !over_rails() ? peer()->local_address() : "";
  }

  bool over_rails() const { return schedule_ == "rails"; }

  /// This node's network interface of each rail. Throws RunError when nodes have different numbers
  /// of them.
  std::vector<std::string> agree_on_rails() {
    const RailInterfaces found = rail_interfaces(interface_);
    const std::vector<std::string>& own = found.names;
    left_out_.clear();
    for (const std::string& one : found.left_out) left_out_ += (left_out_.empty() ? "" : ", ") + one;
    std::string words;
    for (const std::string& name : own) words += (words.empty() ? "" : ", ") + name;
    const auto all = ranks_->gather("network interfaces", team_, words, kPartner_s);
    const auto count = [](const std::string& list) {
      return list.empty() ? 0 : 1 + std::count(list.begin(), list.end(), ',');
    };
    rails_ = own;
    bool alike = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (count(all[i]) == 0) throw RunError(ranks_->host(team_[i]) + " has no network interface that is up");
      if (count(all[i]) != count(all[0]))
        throw RunError("nodes have different rails: " + ranks_->host(team_[0]) + " " + all[0] + "; " +
                       ranks_->host(team_[i]) + " " + all[i] + "; name those that belong together with `interface`");
      alike = alike && all[i] == all[0];
    }
    for (std::size_t rail = 0; !alike && rail < rails_.size(); ++rail) rails_[rail] = "rail" + std::to_string(rail);
    return own;
  }

  /// The host, and the rank where there are several on it.
  std::string name_of(unsigned rank) const {
    const auto same = std::count_if(team_.begin(), team_.end(),
                                    [&](unsigned other) { return ranks_->host(other) == ranks_->host(rank); });
    return same == 1 ? ranks_->host(rank) : ranks_->host(rank) + "#" + std::to_string(rank);
  }

  std::string schedule_, engine_;
  unsigned streams_;
  std::uint64_t block_size_;
  double time_s_;
  std::string interface_;
  std::uint64_t socket_buffer_;

  Ranks* ranks_ = nullptr;
  std::vector<unsigned> team_;
  unsigned self_ = 0;
  PairRounds rounds_;
  std::vector<UnreachedPair> unreached_;          // of the matrix's ends
  std::vector<std::string> rails_;                // what they are called
  std::string left_out_;                          // interfaces that are no rails
  std::vector<std::unique_ptr<TcpMesh>> meshes_;  // of each rail, or one of any interface
  StreamEngine* engine_streams_ = nullptr;
  std::vector<Lane> lanes_;
  std::unique_ptr<std::barrier<>> together_;
  std::atomic<bool> failed_{false};
  std::vector<double> received_;  // by the end that sent; below 0 = not measured
  std::optional<PairMatrix> matrix_;
  std::string why_no_port_;
  std::string no_time_, why_none_;  // which directions lack a rate; and why all do
};

const Register<TcpStream> registered_tcp_stream{
    "tcp_stream", "TCP between pairs of nodes: a matrix of rates, and which node or link is slow"};

}  // namespace
