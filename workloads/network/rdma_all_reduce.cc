// rdma_all_reduce - a ring all-reduce over RDMA in host memory: what the fabric gives gradients before GPUs and NCCL work.
#include <array>
#include <cmath>
#include <exception>
#include <optional>

#include "harness/backends/buffers.h"
#include "harness/backends/expected_sums.h"
#include "harness/backends/loader.h"
#include "harness/machine/network/rdma_wire.h"
#include "harness/workload/network/paired.h"
#include "harness/workload/ranks/team.h"
#include "workloads/network/rdma_end.h"
#include "workloads/network/stall_watch.h"

namespace {
using namespace headrace;
using network::RdmaEnd;
using network::StallWatch;

constexpr std::array kRdmaAllReduceMetrics{
    Metric{"busbw", "B/s", Better::higher, "Formula F1: 2 (n-1)/n times algbw, what each rank's port carries one way",
           /*per_device=*/false, /*of_a_line=*/true},
    Metric{"algbw", "B/s", Better::higher, "message_size over the time of one all-reduce"},
    Metric{"time_s", "s", Better::lower, "One all-reduce: elapsed time over their number"},
};

/// How soon is the sum of every rank's numbers on every rank?
///A buffer of n segments goes round a ring of n ranks. In n-1 steps each rank sends a segment to the next and adds the
///one that comes. In n-1 more the finished segments follow. Segments are cut into chunks, and a chunk is passed on as
///soon as it is there. A chunk is one write that carries a number, so that its arrival is a completion.
class RdmaAllReduce final : public Paired, public JoinsRanks {
 public:
  explicit RdmaAllReduce(Params& p)
      : Paired("rdma_all_reduce"),
        size_(p.bytes("message_size", 64_MiB, {.min = 4, .max = static_cast<double>(16_GiB), .multiple_of = 4},
                      "of 32-bit floating-point numbers that each rank has")),
        chunk_(p.bytes("chunk", 256_KiB, {.min = 4, .max = static_cast<double>(1_GiB), .multiple_of = 4},
                       "passed on at once; more where a segment would have over 1024 of them")),
        time_s_(p.seconds("time", 1, {.min = 0.01, .max = 3600}, "of one repetition")),
        tx_depth_(static_cast<unsigned>(p.count("tx_depth", 128, {.min = 2, .max = 8192}, "chunks in flight"))),
        end_(p) {
    share(p, RdmaEnd::kOfThisEnd);
  }

  static std::span<const Metric> metrics() { return kRdmaAllReduceMetrics; }
  static constexpr WorkloadTraits kTraits{.across_ranks = AcrossRanks::slowest};
  Footprint footprint() const override {
    return {.written_bytes = 0,
            .read_bytes_per_repetition = 0,
            .memory_bytes = 2 * size_,
            .data_id = "",
            .repetition_s = time_s_ + 0.1};
  }

  /// Trouble is kept until all ranks come together again: then it is reported.
  void run(Worker& worker) override {
    attempt([&] { loop(worker.recorder); });
  }

  /// One more, of numbers whose sum is exact in whatever order they are added.
  void conclude() override {
    come_together("the end of the all-reduces", kSlack_s + end_.patience_s() + kOverrun * time_s_, [this] {
      for (std::uint64_t i = 0; i < elements(); ++i) data_[i] = rank_value(rank(), i);
    });
    attempt([&] {
      StallWatch watch(*ranks_, left(), end_.patience_s());
      all_reduce(true, watch);
    });
    come_together("check the sum", kSlack_s + end_.patience_s(), [this] { check_sum(); });
  }

  std::vector<std::string> notes() override { return notes_; }
  std::optional<GroupShape> group() const override { return shape_; }

 protected:
  std::optional<Skip> check_here(Node& node) override { return RdmaEnd::check(node); }

  void set_up(Node& node, Ranks& ranks, const DataProgress&) override {
    ranks_ = &ranks;
    trouble_ = nullptr;
    notes_.clear();
    const std::vector<std::string> cards =
        in_concert(ranks, "connect the ring", kConnect_s, [&] { return open(node); });
    come_together("the ring is connected", kConnect_s,
                  [&] { connect_ring(card_from(cards.at(left())), card_from(cards.at(right()))); });
    shape_ = shape_of({ranks.everyone()}, ranks.places());
    const std::uint64_t n = ranks.size();
    notes_.push_back(ranks.host(rank()) + " by " + end_.words() + "; " + std::to_string(n) + " ranks, " +
                     std::to_string(chunks_) + " chunks of " + std::to_string(part_ * sizeof(float)) +
                     " bytes per segment");
    notes_.insert(notes_.end(), end_.notes().begin(), end_.notes().end());
  }

  void make_ready(unsigned, std::uint64_t) override { count_ = elapsed_ns_ = 0; }
  void start(Worker&) override {
    end_.place_thread();
    come_together("start together", kSlack_s + end_.patience_s(), [this] {
      std::fill_n(data_, elements(), 0.0f);  // sums of sums would leave the range of float
    });
  }
  void report_pair(const Repetition&, MetricSink& sink) const override {
    if (count_ == 0) return;
    const double time_s = 1e-9 * static_cast<double>(elapsed_ns_) / static_cast<double>(count_);
    const double algbw = static_cast<double>(size_) / time_s, n = ranks_->size();
    sink.put("busbw", algbw * 2 * (n - 1) / n);
    sink.put("algbw", algbw);
    sink.put("time_s", time_s);
  }
  void take_down(Node&) override {
    enrolled_.reset();
    endpoint_.reset();
    memory_.reset();
  }

 private:
  static constexpr double kConnect_s = 30, kSlack_s = 60, kOverrun = 4;
  static constexpr std::uint64_t kMostChunks = 1024;

  template <class Call>
  void attempt(Call call) noexcept {
    try {
      call();
    } catch (...) {
      trouble_ = std::current_exception();
    }
  }
  template <class Call>
  void come_together(std::string_view what, double timeout_s, Call call) {
    // A peer that was given up is not waited for again.
    in_concert(*ranks_, what, peer() && trouble_ ? end_.patience_s() : timeout_s, [&] {
      if (trouble_) std::rethrow_exception(trouble_);  // queue pairs that have failed stay so
      call();
      return std::string();
    });
  }

  /// Memory, and queue pairs: 0 leads to the next rank of the ring, 1 to the one before. This end's card.
  std::string open(Node& node) {
    end_.choose(node.backends().rdma(), *ranks_, peer());
    const std::uint64_t n = ranks_->size();
    segment_ = (elements() + n - 1) / n;
    part_ = std::max(chunk_ / sizeof(float), (segment_ + kMostChunks - 1) / kMostChunks);
    chunks_ = static_cast<unsigned>((segment_ + part_ - 1) / part_);
    messages_ = static_cast<unsigned>(2 * (n - 1)) * chunks_;
    half_ = round_up(n * segment_ * sizeof(float), kPage);
    {
      const OnNumaNode there(end_.numa_node());
      memory_ = std::make_unique<Buffers>(1, 2 * half_, end_.huge_pages());
    }
    data_ = reinterpret_cast<float*>(memory_->begin());
    came_ = reinterpret_cast<float*>(memory_->begin() + half_);
    std::fill_n(data_, half_ / sizeof(float), 0.0f);
    rx_depth_ = std::min(messages_ + chunks_ + 1, end_.port().most_work - 1);
    endpoint_ = end_.open({.queue_pairs = 2, .tx_depth = tx_depth_, .rx_depth = rx_depth_, .relaxed_ordering = true});
    enrolled_ = endpoint_->enroll({memory_->begin(), 2 * half_});
    return to_bytes(RdmaCard{endpoint_->address(), reinterpret_cast<std::uint64_t>(memory_->begin()), 2 * half_,
                             enrolled_->remote_key()});
  }

  void connect_ring(const RdmaCard& before, const RdmaCard& next) {
    next_ = next;
    if (next_.length != 2 * half_) throw RunError("the ranks' buffers differ: is message_size the same on all?");
    endpoint_->connect(next_.address, 0, 1, 1);
    endpoint_->connect(before.address, 1, 0, 1);
    for (unsigned i = 0; i < rx_depth_; ++i) post_receive();
    end_.compare_mtu(next_.address.mtu, ranks_->host(right()));
  }

  void check_sum() const {
    const SumOfRanks sum_of(ranks_->size());
    for (std::uint64_t i = 0; i < elements(); ++i) {
      if (const float sum = sum_of(i); data_[i] != sum)
        throw RunError("wrong data on " + ranks_->host(rank()) + ": element " + std::to_string(i) + " is " +
                       std::to_string(data_[i]) + ", the sum is " + std::to_string(sum));
    }
  }

  unsigned rank() const { return ranks_->rank(); }
  unsigned right() const { return (rank() + 1) % ranks_->size(); }
  unsigned left() const { return (rank() + ranks_->size() - 1) % ranks_->size(); }
  std::uint64_t elements() const { return size_ / sizeof(float); }

  // ---- The timed region: nothing below allocates, unless it throws.

  void loop(Recorder& recorder) {
    const std::uint64_t first = now_ns(), end = first + static_cast<std::uint64_t>(time_s_ * 1e9);
    StallWatch watch(*ranks_, left(), end_.patience_s());
    std::uint64_t begin = first;
    for (bool last = false; !last;) {
      // Rank 0 says which is the last: the word goes round with the data of the same all-reduce.
      last = all_reduce(rank() == 0 && (begin >= end || (count_ > 0 && !recorder.running())), watch);
      const std::uint64_t now = now_ns();
      recorder.op(begin, now, size_);
      begin = now;
      ++count_;
    }
    elapsed_ns_ = begin - first;
  }

  /// Message `number` of the ring: in which step, and which chunk of the segment that rank `at` sends in it.
  struct Place {
    std::uint64_t begin, length;  // elements of the buffer
    bool reduces;                 // on arrival
  };
  Place place(unsigned at, unsigned number) const noexcept {
    const unsigned n = ranks_->size(), step = number / chunks_;
    const bool reduces = step < n - 1;
    const unsigned k = reduces ? step : step - (n - 1);
    const unsigned segment = (at + (reduces ? 0 : 1) + n - k) % n;
    const std::uint64_t from = std::uint64_t{number % chunks_} * part_;
    return {segment * segment_ + from, std::min(part_, segment_ - from), reduces};
  }
  /// The place where a chunk waits for its addition. Each step has its own, so that none overwrites another.
  std::uint64_t waiting(unsigned number) const noexcept {
    return std::uint64_t{number / chunks_} * segment_ + std::uint64_t{number % chunks_} * part_;
  }

  /// Returns whether rank 0 said that it was the last.
  bool all_reduce(bool last, StallWatch& watch) {
    unsigned sent = 0, received = 0, in_flight = 0, since_signal = 0;
    while (received < messages_ || sent < messages_ || in_flight > 0) {
      bool moved = false;
      // A chunk goes on when it is there: the first step's is from the beginning.
      while (sent < messages_ && sent < received + chunks_ && in_flight < tx_depth_) {
        ++since_signal;
        const bool signal = since_signal >= tx_depth_ / 2 || sent + 1 == messages_;
        send(sent++, last, signal ? since_signal : 0);
        if (signal) since_signal = 0;
        ++in_flight;
        moved = true;
      }
      std::array<RdmaCompletion, 16> done;
      int count = good(endpoint_->poll(done));
      for (int i = 0; i < count; ++i) {
        must_be_good(done[static_cast<unsigned>(i)], right());
        in_flight -= static_cast<unsigned>(done[static_cast<unsigned>(i)].id);
      }
      moved = moved || count > 0;
      // What comes of the next all-reduce is left for it.
      count = received < messages_ ? good(endpoint_->poll_received(std::span(done).first(
                                         std::min<std::size_t>(done.size(), messages_ - received))))
                                   : 0;
      for (int i = 0; i < count; ++i) {
        must_be_good(done[static_cast<unsigned>(i)], left());
        last = last || done[static_cast<unsigned>(i)].immediate != 0;
        take(received++);
        post_receive();
      }
      moved = moved || count > 0;
      moved ? watch.moved() : watch.waited();
    }
    return last;
  }

  void send(unsigned number, bool last, unsigned covers) {
    const Place at = place(rank(), number);
    const std::uint64_t to = at.reduces ? half_ + waiting(number) * sizeof(float) : at.begin * sizeof(float);
    const RdmaWork work{.op = RdmaOp::write_immediate,
                        .signaled = covers > 0,
                        .length = static_cast<std::uint32_t>(at.length * sizeof(float)),
                        .local = data_ + at.begin,
                        .local_key = enrolled_->local_key(),
                        .remote_key = next_.key,
                        .remote = next_.memory + to,
                        .immediate = last ? 1u : 0u,
                        .id = covers};
    if (const int code = endpoint_->post(0, {&work, 1})) throw system_error("post to", ranks_->who(right()), code);
  }

  void take(unsigned number) noexcept {
    const Place at = place(left(), number);
    if (!at.reduces) return;
    float* __restrict to = data_ + at.begin;
    const float* __restrict from = came_ + waiting(number);
    for (std::uint64_t i = 0; i < at.length; ++i) to[i] += from[i];
  }

  void post_receive() {
    if (const int code = endpoint_->receive(1, nullptr, 0, 0, 0))
      throw system_error("receive from", ranks_->who(left()), code);
  }
  static int good(int count) {
    if (count < 0) throw system_error("poll", "a completion queue", -count);
    return count;
  }
  void must_be_good(const RdmaCompletion& done, unsigned other) const {
    if (done.status != 0) throw RunError("to " + ranks_->who(other) + ": " + endpoint_->why(done.status));
  }

  const std::uint64_t size_, chunk_;
  const double time_s_;
  const unsigned tx_depth_;
  RdmaEnd end_;

  Ranks* ranks_ = nullptr;
  std::unique_ptr<Buffers> memory_;  // the numbers, then the summands
  std::unique_ptr<RdmaEndpoint> endpoint_;
  std::unique_ptr<RdmaMemory> enrolled_;  // goes before both
  RdmaCard next_;
  float *data_ = nullptr, *came_ = nullptr;
  std::uint64_t segment_ = 0, part_ = 0, half_ = 0;  // elements, elements, bytes
  unsigned chunks_ = 0, messages_ = 0, rx_depth_ = 0;
  std::uint64_t count_ = 0, elapsed_ns_ = 0;
  std::exception_ptr trouble_;  // what went wrong; stays until the next set_up
  std::optional<GroupShape> shape_;
  std::vector<std::string> notes_;
};

const Register<RdmaAllReduce> registered_rdma_all_reduce{
    "rdma_all_reduce", "a ring all-reduce over RDMA in host memory: the fabric without GPUs"};

}  // namespace
