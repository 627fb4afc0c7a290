// What rdma_write, rdma_read and rdma_send share: two ends, queue pairs between them, messages in flight, and a
// ping-pong; everything but which operation moves the data.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"
#include "harness/paired.h"
#include "harness/rdma_wire.h"
#include "workloads/network/patience.h"
#include "workloads/network/rdma_area.h"
#include "workloads/network/rdma_end.h"

namespace headrace::network {

inline constexpr std::array kRdmaMetrics{
    Metric{"bandwidth", "B/s", Better::higher,
           "Payload of all messages over the time from the first post to the last completion; both directions together"},
    Metric{"message_rate", "1/s", Better::higher, "Messages per second, likewise"},
    Metric{"line_share", "ratio", Better::higher, "bandwidth of one direction over the port's line rate"},
};

/// Two ranks: the first of a pair moves the data (of `direction: both`, each does), the second answers.
class RdmaPair : public Paired {
 public:
  RdmaPair(Params& p, std::string_view name, RdmaOp op)
      : Paired(name),
        op_(op),
        latency_(p.choice("measure", "bandwidth", {"bandwidth", "latency"},
                          "bandwidth: many messages in flight; latency: one at a time, to and fro") == "latency"),
        both_(p.choice("direction", "one_way", {"one_way", "both"}, "of the data: to one end, or to both at once") ==
              "both"),
        size_(p.bytes("message_size", 64_KiB, {.min = 1, .max = static_cast<double>(1_GiB)}, "payload of one message")),
        time_s_(p.seconds("time", 1, {.min = 0.01, .max = 3600}, "of one repetition")),
        queue_pairs_(static_cast<unsigned>(p.count("queue_pairs", 1, {.min = 1, .max = 1024}, "reliable connections"))),
        tx_depth_(static_cast<unsigned>(
            p.count("tx_depth", 128, {.min = 2, .max = 32768}, "messages in flight per queue pair"))),
        rx_depth_(static_cast<unsigned>(p.count("rx_depth", 512, {.min = 2, .max = 32768},
                                                "receives posted per queue pair; for sends alone"))),
        post_list_(static_cast<unsigned>(p.count("post_list", 1, {.min = 1, .max = RdmaEndpoint::kMostPosted},
                                                 "messages handed to the device at once"))),
        moderation_(static_cast<unsigned>(
            p.count("cq_moderation", 32, {.min = 1, .max = 16384}, "one completion for so many messages"))),
        inline_size_(static_cast<unsigned>(p.bytes("inline_size", 220, {.min = 0, .max = 1024},
                                                   "messages up to this size go with the request itself"))),
        buffer_(p.bytes("buffer", 16_MiB, {.min = 1, .max = static_cast<double>(64_GiB)},
                        "distinct bytes that messages are sent from, and received into, in turn")),
        on_gpu_(p.choice("memory", "host", {"host", "gpu"}, "that messages are in at both ends") == "gpu"),
        gpu_(static_cast<unsigned>(p.count("gpu", 0, {.min = 0, .max = 63}, "whose memory: the one near the port"))),
        end_(p) {
    if (latency_ && on_gpu_ && op != RdmaOp::read)
      p.conflict("memory", "the processor cannot see a message arrive in a GPU's memory: latency there is rdma_read's");
    if (latency_ && both_) p.conflict("direction", "latency is measured to and fro anyway");
    if (latency_ && queue_pairs_ > 1) p.conflict("queue_pairs", "latency is measured with one");
    if (moderation_ > tx_depth_) moderation_ = tx_depth_;
    if (post_list_ > tx_depth_) p.conflict("post_list", "more than tx_depth");
    share(p, RdmaEnd::kOfThisEnd);
  }

  static std::span<const Metric> metrics() { return kRdmaMetrics; }
  Footprint footprint() const override {
    return {.written_bytes = 0, .read_bytes_per_repetition = 0, .memory_bytes = 2 * slots() * size_, .data_id = ""};
  }

  void run(Worker& worker) override {
    if (side_ == Side::none) return;
    try {
      if (!latency_) stream(worker.recorder);
      else if (leads()) ping(worker.recorder);
      else pong();
    } catch (const std::exception& e) {
      broken_ = e.what();
      throw;
    }
  }

  void conclude() override {
    if (side_ == Side::none) return;
    // What this end moved, and what the other end did.
    moved_.least = lanes_.front().acknowledged;
    for (const Lane& lane : lanes_) moved_.least = std::min(moved_.least, lane.acknowledged);
    const std::string own(reinterpret_cast<const char*>(&moved_), sizeof moved_);
    const std::string theirs = ranks_->exchange(
        "compare results", partner_, own, end_.patience_s() + (leads() ? 0 : kOverrun * time_s_));
    if (theirs.size() != sizeof others_) throw RunError("the other end's results are of another version");
    std::memcpy(&others_, theirs.data(), sizeof others_);
    std::vector<WrongBlock> wrong;
    area_->fetch();
    if (!latency_) {
      const std::uint64_t came = op_ == RdmaOp::read ? moved_.least : others_.least;
      for (unsigned q = 0; q < queue_pairs_; ++q)
        for (std::uint64_t n = 0; n < std::min(came, slots_each_) && wrong.empty(); ++n)
          area_->check(slot_of(q, lanes_[q].first + n), size_, others_key(), wrong);
    } else if (size_ > 1 && (op_ != RdmaOp::read || leads())) {
      area_->check(0, size_ - 1, others_key(), wrong);
    }
    const std::string own_word = wrong.empty() ? "" : wrong_words(wrong.front());
    const std::string their_word = ranks_->exchange("check data", partner_, own_word, 60 + end_.patience_s());
    if (!own_word.empty()) throw RunError(own_word);
    if (!their_word.empty()) throw RunError(their_word);
  }

  std::vector<std::string> notes() override { return notes_; }

 protected:
  std::optional<Skip> check_here(Node& node, Ranks&) override {
    if (auto skip = RdmaEnd::check(node)) return skip;
    if (!on_gpu_) return std::nullopt;
    if (std::string why = node.backends().why_not("cuda"); !why.empty()) return Skip{"memory: gpu: " + why};
    const unsigned count = node.backends().gpu().count();
    return gpu_ < count ? std::nullopt : std::optional(Skip{"gpu: " + std::to_string(gpu_) + ": here are " + std::to_string(count)});
  }

  void set_up(Node& node, Ranks& ranks, const DataProgress&) override {
    ranks_ = &ranks;
    notes_.clear();
    broken_.clear();
    choose_partner();
    if (side_ == Side::none) return;
    end_.choose(node.backends().rdma(), ranks, peer());
    if (size_ > end_.port().most_message)
      throw Unsupported(end_.port().name() + " takes messages of at most " + std::to_string(end_.port().most_message) +
                        " bytes");
    slots_each_ = std::max<std::uint64_t>(1, slots() / queue_pairs_);
    area_ = std::make_unique<RdmaArea>(static_cast<std::uint32_t>(slots_each_ * queue_pairs_), size_, end_.huge_pages(),
                                       end_.numa_node(), on_gpu_ ? &node.backends().gpu().gpu(gpu_) : nullptr);
    const bool inlined = !on_gpu_ && op_ != RdmaOp::read && size_ <= inline_size_;
    endpoint_ = end_.open({.queue_pairs = queue_pairs_,
                           .tx_depth = tx_depth_ + 1,  // and the word that ends a stream
                           .rx_depth = op_ == RdmaOp::send ? rx_depth_ : 1,
                           .inline_size = inlined ? static_cast<unsigned>(size_) : 0});
    area_->enroll(*endpoint_);
    const RdmaCard own{endpoint_->address(), area_->address(), area_->length(), area_->remote_key()};
    other_ = card_from(ranks_->exchange("connect queue pairs", partner_, to_bytes(own), kConnect_s));
    if (other_.length != own.length) throw RunError("the two ends' buffers differ: is `buffer` the same on both?");
    endpoint_->connect(other_.address);
    ranks_->exchange("queue pairs connected", partner_, "", kConnect_s);
    sample_ = {.op = op_, .signaled = false, .inlined = inlined, .length = static_cast<std::uint32_t>(size_)};
    sample_.local_key = area_->local_key();
    sample_.remote_key = other_.key;
    lanes_.assign(queue_pairs_, Lane(tx_depth_ / moderation_ + 4));

    end_.compare_mtu(other_.address.mtu, ranks_->host(partner_));
    notes_.push_back(ranks_->host(ranks_->rank()) + " by " + end_.words() + "; buffers " + area_->placement());
    if (!area_->refused().empty()) notes_.push_back(area_->refused());
    notes_.insert(notes_.end(), end_.notes().begin(), end_.notes().end());
  }

  void make_ready(unsigned, std::uint64_t seed) override {
    if (side_ == Side::none) return;
    if (!broken_.empty()) throw RunError(broken_);  // its queue pairs have failed
    seed_ = seed;
    area_->fill(key_of(ranks_->rank()));
    moved_ = {};
    for (Lane& lane : lanes_) lane.restart(op_ == RdmaOp::send);
    receives_ = !latency_ && op_ == RdmaOp::send && (both_ || !leads());
    const bool posts = op_ == RdmaOp::send && (latency_ || receives_);
    for (unsigned q = 0; posts && q < queue_pairs_; ++q)
      while (lanes_[q].receives - lanes_[q].received < rx_depth_) post_receive(q);
  }
  void start(Worker&) override {
    if (side_ == Side::none) return;
    run_on(end_.numa_node());
    ranks_->exchange("start together", partner_, "", kConnect_s + end_.patience_s());
  }

  void tell(const Repetition& repetition, MetricSink& sink) const override {
    if (latency_ || side_ != Side::first) return;
    const double own = rate_of(moved_), theirs = both_ ? rate_of(others_) : 0;
    if (own <= 0 || repetition.phases.empty()) return;
    sink.put("bandwidth", own + theirs);
    sink.put("message_rate", (own + theirs) / static_cast<double>(size_));
    if (const double rate = end_.port().rate; rate > 0) sink.put("line_share", (own + theirs) / (both_ ? 2 : 1) / rate);
  }
  void take_down(Node&) override {
    area_.reset();  // what is registered goes before the device
    endpoint_.reset();
  }

 private:
  enum class Side { first, second, none };
  static constexpr double kConnect_s = 10;
  static constexpr double kOverrun = 4;  // messages in flight at the end of `time` still have to arrive
  static constexpr unsigned char kStop = 255;  // the marker of the last ping

  /// What one end moved, and in which time. Read by the other end as it lies in memory.
  struct Moved {
    std::uint64_t messages = 0, elapsed_ns = 0;
    std::uint64_t least = 0;  // messages of the queue pair that moved the fewest
  };

  /// One queue pair's messages. In order: received <= receives posted; acknowledged <= posted.
  struct Lane {
    explicit Lane(unsigned moments) : posted_at(moments) {}
    /// Receives stay posted from one repetition to the next, so both ends go on with the slot that is next.
    void restart(bool goes_on) {
      posted = acknowledged = since_signal = signals = reaped = 0;
      ended = stopped = false;
      if (!goes_on) next = 0;
      first = goes_on ? received : 0;
    }
    std::uint64_t posted = 0, acknowledged = 0;
    std::uint64_t next = 0;  // number of the next message: says its slot
    std::uint64_t since_signal = 0, signals = 0, reaped = 0;
    std::uint64_t first = 0;  // received before this repetition
    std::uint64_t receives = 0, received = 0;
    bool stopped = false;  // the word that ends the stream is posted
    bool ended = false;    // the other end's has come
    std::vector<std::uint64_t> posted_at;  // of messages with completions, in turn [ns]
  };

  bool leads() const { return side_ == Side::first; }
  std::uint64_t slots() const { return latency_ ? 1 : std::max<std::uint64_t>(queue_pairs_, buffer_ / round_up(size_, 64)); }
  std::uint64_t key_of(unsigned rank) const { return seed_ + rank * 0x9e3779b97f4a7c15u; }
  std::uint64_t others_key() const { return key_of(partner_); }
  double rate_of(const Moved& m) const {
    return m.elapsed_ns > 0 ? static_cast<double>(m.messages * size_) * 1e9 / static_cast<double>(m.elapsed_ns) : 0;
  }

  /// The first half of the ranks each lead one of the second half: with ranks in the order of their nodes, data leaves
  /// the node.
  void choose_partner() {
    const unsigned half = ranks_->size() / 2, rank = ranks_->rank();
    side_ = rank < half ? Side::first : rank < 2 * half ? Side::second : Side::none;
    partner_ = side_ == Side::first ? rank + half : rank - half;
  }

  std::string wrong_words(const WrongBlock& wrong) const {
    return "wrong data on " + ranks_->host(ranks_->rank()) + ": " + wrong.file + " at offset " +
           std::to_string(wrong.offset) + " differs from what " + ranks_->host(partner_) + " sent";
  }

  // ---- The timed region: nothing below allocates, unless it throws.

  void check_post(int code) const {
    if (code != 0) throw system_error("post to", ranks_->who(partner_), code);
  }
  void check_done(const RdmaCompletion& done) const {
    if (done.status != 0) throw RunError("to " + ranks_->who(partner_) + ": " + endpoint_->why(done.status));
  }
  int check_poll(int count) const {
    if (count < 0) throw system_error("poll", "a completion queue", -count);
    return count;
  }

  void post_receive(unsigned q) {
    Lane& lane = lanes_[q];
    const std::uint32_t slot = slot_of(q, lane.receives);
    check_post(endpoint_->receive(q, area_->sink(slot), static_cast<std::uint32_t>(size_), area_->local_key(), slot));
    ++lane.receives;
  }

  std::uint32_t slot_of(unsigned q, std::uint64_t number) const noexcept {
    return static_cast<std::uint32_t>(q * slots_each_ + number % slots_each_);
  }
  RdmaWork message(unsigned q, std::uint64_t number) const noexcept {
    const std::uint32_t slot = slot_of(q, number);
    RdmaWork work = sample_;
    if (op_ == RdmaOp::read) {
      work.local = area_->sink(slot);
      work.remote = area_->source_at(other_.memory, slot);
    } else {
      work.local = area_->source(slot);
      work.remote = area_->sink_at(other_.memory, slot);
    }
    return work;
  }

  /// So many more on queue pair `q`; `last`: the last of them has a completion whatever its turn.
  void post(unsigned q, unsigned count, bool last) {
    Lane& lane = lanes_[q];
    RdmaWork list[RdmaEndpoint::kMostPosted];
    for (unsigned i = 0; i < count; ++i) {
      list[i] = message(q, lane.next++);
      ++lane.posted;
      if (++lane.since_signal < moderation_ && !(last && i + 1 == count)) continue;
      list[i].signaled = true;
      list[i].id = lane.since_signal;
      lane.posted_at[lane.signals++ % lane.posted_at.size()] = now_ns();
      lane.since_signal = 0;
    }
    check_post(endpoint_->post(q, {list, count}));
  }

  /// Messages that are done, as completions tell.
  unsigned reap(Recorder& recorder) {
    std::array<RdmaCompletion, 16> done;
    const int count = check_poll(endpoint_->poll(done));
    if (count == 0) return 0;
    const std::uint64_t now = now_ns();
    for (int i = 0; i < count; ++i) {
      const RdmaCompletion& c = done[static_cast<unsigned>(i)];
      check_done(c);
      if (c.id == 0) continue;  // the word that ended the stream
      Lane& lane = lanes_[c.queue];
      const std::uint64_t begin = lane.posted_at[lane.reaped++ % lane.posted_at.size()];
      lane.acknowledged += c.id;
      moved_.messages += c.id;
      last_ns_ = now;
      recorder.op(begin, now, c.id * size_);
    }
    return static_cast<unsigned>(count);
  }

  unsigned take_received() {
    std::array<RdmaCompletion, 32> done;
    const int count = check_poll(endpoint_->poll_received(done));
    for (int i = 0; i < count; ++i) {
      const RdmaCompletion& c = done[static_cast<unsigned>(i)];
      check_done(c);
      Lane& lane = lanes_[c.queue];
      ++lane.received;
      if (c.length == 0) lane.ended = true;
      else if (c.length != size_) throw RunError("a message of " + std::to_string(c.length) + " bytes came, not of message_size");
      post_receive(c.queue);
    }
    return static_cast<unsigned>(count);
  }

  void stream(Recorder& recorder) {
    const bool sends = leads() || both_;
    const std::uint64_t begin = now_ns(), end = begin + static_cast<std::uint64_t>(time_s_ * 1e9);
    last_ns_ = begin;
    Patience patience(*ranks_, partner_, end_.patience_s());
    enum class Stage { sending, draining, over } stage = sends ? Stage::sending : Stage::over;
    while (stage != Stage::over || (receives_ && !all_ended())) {
      unsigned moved = receives_ ? take_received() : 0;
      if (stage == Stage::sending) {
        for (unsigned q = 0; q < queue_pairs_; ++q)
          while (lanes_[q].posted - lanes_[q].acknowledged + post_list_ <= tx_depth_) post(q, post_list_, false);
        if (const unsigned reaped = reap(recorder)) {
          moved += reaped;
          if (last_ns_ >= end || !recorder.running()) stage = Stage::draining;
        }
      } else if (stage == Stage::draining) {
        moved += reap(recorder);
        bool done = true;
        for (unsigned q = 0; q < queue_pairs_; ++q) done = drained(q) && done;
        if (done) stage = Stage::over;
      }
      moved > 0 ? patience.moved() : patience.waited();
    }
    moved_.elapsed_ns = last_ns_ - begin;
  }

  bool all_ended() const noexcept {
    return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.ended; });
  }

  /// Everything of queue pair `q` has been acknowledged; what is without a completion gets one, and the other end of a
  /// stream of sends is told that it was the last.
  bool drained(unsigned q) {
    Lane& lane = lanes_[q];
    if (lane.since_signal > 0) {
      if (lane.posted - lane.acknowledged < tx_depth_) post(q, 1, true);
      return false;
    }
    if (lane.posted != lane.acknowledged) return false;
    if (op_ == RdmaOp::send && !lane.stopped) {
      const RdmaWork stop{.op = RdmaOp::send, .signaled = true, .local_key = area_->local_key(), .id = 0};
      check_post(endpoint_->post(q, {&stop, 1}));
      ++lane.next;
      lane.stopped = true;
    }
    return true;
  }

  // ---- One message at a time.

  void ping(Recorder& recorder) {
    const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(time_s_ * 1e9);
    std::uint64_t begin = now_ns(), number = 0;
    Patience patience(*ranks_, partner_, end_.patience_s());
    while (begin < end && (number == 0 || recorder.running())) {
      to_and_fro(number, marker(number), patience);
      const std::uint64_t now = now_ns(), took = now - begin;
      // Half of the way to and fro; a read's data comes back by itself.
      recorder.op(op_ == RdmaOp::read ? begin : now - took / 2, now, size_);
      begin = now;
      ++number;
    }
    moved_.messages = number;
    if (op_ != RdmaOp::read) send_marked(number, kStop, patience);
    collect(patience);
  }

  void pong() {
    if (op_ == RdmaOp::read) return;  // its memory answers
    Patience patience(*ranks_, partner_, end_.patience_s());
    for (std::uint64_t number = 0;; ++number) {
      if (wait_for(number, patience) == kStop) break;
      send_marked(number, marker(number), patience);
    }
    collect(patience);
  }

  static unsigned char marker(std::uint64_t number) noexcept { return static_cast<unsigned char>(1 + number % 100); }

  void to_and_fro(std::uint64_t number, unsigned char mark, Patience& patience) {
    send_marked(number, mark, patience);
    if (op_ == RdmaOp::read) {
      while (lanes_[0].acknowledged < lanes_[0].posted) collect_some(patience);
    } else {
      wait_for(number, patience);
    }
  }

  /// The last byte tells which message it is: the device writes it last.
  void send_marked(std::uint64_t, unsigned char mark, Patience& patience) {
    Lane& lane = lanes_[0];
    while (lane.posted - lane.acknowledged >= tx_depth_) collect_some(patience);
    RdmaWork work = message(0, 0);
    if (op_ != RdmaOp::read) area_->source(0)[size_ - 1] = mark;
    ++lane.posted;
    ++lane.since_signal;
    if (op_ == RdmaOp::read || mark == kStop || lane.since_signal >= std::min(moderation_, tx_depth_ / 2)) {
      work.signaled = true;
      work.id = lane.since_signal;
      lane.since_signal = 0;
    }
    check_post(endpoint_->post(0, {&work, 1}));
  }

  /// Until the next message is there; its mark.
  unsigned char wait_for(std::uint64_t number, Patience& patience) {
    Lane& lane = lanes_[0];
    const volatile unsigned char* last = area_->sink(0) + size_ - 1;
    if (op_ == RdmaOp::send) {
      RdmaCompletion done;
      while (check_poll(endpoint_->poll_received({&done, 1})) == 0) wait(patience);
      check_done(done);
      ++lane.received;
      const unsigned char mark = *last;
      if (lane.receives - lane.received < rx_depth_) post_receive(0);
      patience.moved();
      return mark;
    }
    unsigned char mark;
    while ((mark = *last) != marker(number) && mark != kStop) wait(patience);
    patience.moved();
    return mark;
  }
  /// Nothing has come yet: looks for what failed, now and then.
  void wait(Patience& patience) {
    if (++waits_ % 1024 == 0) collect_now();
    patience.waited();
  }

  void collect_now() {
    std::array<RdmaCompletion, 8> done;
    const int count = check_poll(endpoint_->poll(done));
    for (int i = 0; i < count; ++i) {
      check_done(done[static_cast<unsigned>(i)]);
      lanes_[0].acknowledged += done[static_cast<unsigned>(i)].id;
    }
  }
  void collect_some(Patience& patience) {
    const std::uint64_t before = lanes_[0].acknowledged;
    collect_now();
    lanes_[0].acknowledged > before ? patience.moved() : patience.waited();
  }
  /// The rest: the last message had a completion.
  void collect(Patience& patience) {
    Lane& lane = lanes_[0];
    while (lane.acknowledged + lane.since_signal < lane.posted) collect_some(patience);
    lane.acknowledged = lane.posted;
  }

  const RdmaOp op_;
  const bool latency_, both_;
  const std::uint64_t size_;
  const double time_s_;
  const unsigned queue_pairs_, tx_depth_, rx_depth_, post_list_;
  unsigned moderation_;
  const unsigned inline_size_;
  const std::uint64_t buffer_;
  const bool on_gpu_;
  const unsigned gpu_;
  RdmaEnd end_;

  Ranks* ranks_ = nullptr;
  Side side_ = Side::none;
  unsigned partner_ = 0;
  std::uint64_t seed_ = 0, slots_each_ = 1, waits_ = 0;
  std::unique_ptr<RdmaEndpoint> endpoint_;
  std::unique_ptr<RdmaArea> area_;  // goes before the endpoint
  RdmaCard other_;
  RdmaWork sample_;
  std::vector<Lane> lanes_;
  bool receives_ = false;
  std::uint64_t last_ns_ = 0;  // the last completion
  std::string broken_;         // what went wrong before
  Moved moved_, others_;
  std::vector<std::string> notes_;
};

}  // namespace headrace::network
