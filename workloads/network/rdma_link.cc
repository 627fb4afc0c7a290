// Messages in flight between two ends: a stream of them, one way or both ways.
#include "workloads/network/rdma_link.h"

#include <algorithm>
#include <array>
#include <span>

#include "harness/base/clock.h"

namespace headrace::network {
namespace {

constexpr unsigned kMostWords = 2;                  // of a lane at once: an end, and that one was heard
constexpr std::uint64_t kAgain_ns = 1'000'000;      // before an unacknowledged end is sent again
constexpr std::uint64_t kGiveUp_ns = 1000'000'000;  // an answer may be lost, too

RunError wrong_length(std::uint32_t length) {
  return RunError("a message of " + std::to_string(length) + " bytes came, not of message_size");
}

}  // namespace

RdmaLink::RdmaLink(const RdmaTraffic& traffic, const Ranks& ranks, RdmaEndpoint& endpoint, RdmaArea& area,
                   unsigned partner, unsigned first_queue, bool inlined, double patience_s)
    : traffic_(traffic),
      ranks_(ranks),
      endpoint_(endpoint),
      area_(area),
      partner_(partner),
      first_queue_(first_queue),
      patience_s_(patience_s),
      slots_each_(traffic.slots_per_queue_pair()),
      lanes_(traffic.queue_pairs, RdmaLane(traffic.tx_depth / traffic.moderation + 4)),
      arrivals_(traffic.counts_arrivals() ? traffic.slots() : 0) {
  sample_ = {.op = traffic.counts_arrivals() ? RdmaOp::send_immediate : traffic.op,
             .signaled = false,
             .inlined = inlined,
             .length = static_cast<std::uint32_t>(traffic.size)};
}

void RdmaLink::connect(const RdmaCard& other, unsigned others_first) {
  if (other.length != area_.length()) throw RunError("the two ends' buffers differ: is `buffer` the same on both?");
  try {
    endpoint_.connect(other.address, first_queue_, others_first, traffic_.queue_pairs);
  } catch (const Unsupported&) {
    throw;
  } catch (const RunError& e) {
    throw LinkError("to " + ranks_.who(partner_) + ": " + e.what());
  }
  others_memory_ = other.memory;
  sample_.local_key = area_.local_key();
  sample_.remote_key = other.key;
}

void RdmaLink::make_ready(bool leads) {
  leads_ = leads;
  moved_ = {};
  arrivals_.restart();
  for (RdmaLane& lane : lanes_) lane.restart(traffic_.sends());
  if (traffic_.latency && !traffic_.reads()) area_.sink(0)[traffic_.size - 1] = 0;
  receives_ = !traffic_.latency && traffic_.sends() && (traffic_.both() || !leads);
  const bool posts = traffic_.sends() && (traffic_.latency || receives_ || traffic_.counts_arrivals());
  for (unsigned q = 0; posts && q < traffic_.queue_pairs; ++q)
    while (lanes_[q].receives - lanes_[q].received < traffic_.rx_depth) post_receive(q);
}

void RdmaLink::move(Recorder& recorder) {
  if (!traffic_.latency)
    stream(recorder);
  else if (leads_)
    ping(recorder);
  else
    pong();
  moved_.least = lanes_.front().acknowledged;
  for (const RdmaLane& lane : lanes_) moved_.least = std::min(moved_.least, lane.acknowledged);
}

void RdmaLink::check(const RdmaMoved& others, std::uint64_t others_key, std::vector<WrongBlock>& wrong) {
  area_.fetch();
  if (traffic_.latency) {
    if (traffic_.size > 1 && (!traffic_.reads() || leads_)) area_.check(0, traffic_.size - 1, others_key, wrong);
    return;
  }
  if (traffic_.counts_arrivals()) {  // any arrival is one of the messages that the partner sent, whole
    for (const auto& [slot, from] : arrivals_.all())
      if (wrong.empty()) area_.check(slot, traffic_.size, others_key + from - slot, wrong);
    return;
  }
  const std::uint64_t came = traffic_.reads() ? moved_.least : others.least;
  for (unsigned q = 0; q < traffic_.queue_pairs; ++q)
    for (std::uint64_t n = 0; n < std::min(came, slots_each_) && wrong.empty(); ++n)
      area_.check(slot_of(q, lanes_[q].first + n), traffic_.size, others_key, wrong);
}

/// Transfers in flight have completed, or never will: none of them may be taken for another link's.
void RdmaLink::give_up() {
  endpoint_.give_up(first_queue_, traffic_.queue_pairs);
  std::array<RdmaCompletion, 32> done;
  while (check_poll(endpoint_.poll(done)) > 0) continue;
  while (const int count = check_poll(endpoint_.poll_received(done)))
    for (const RdmaCompletion& c : std::span(done).first(static_cast<std::size_t>(count)))
      if (!is_own(c) && c.status == 0) put_back(c);
}

void RdmaLink::failed(int status) const {
  const std::string why = "to " + ranks_.who(partner_) + ": " + endpoint_.why(status);
  if (endpoint_.cut_off(status)) throw LinkError(why);
  throw RunError(why);
}

/// A queue pair that fails ends its receives, too: the failed message has the reason.
void RdmaLink::receive_failed(int status) {
  std::array<RdmaCompletion, 16> done;
  while (const int count = check_poll(endpoint_.poll(done)))
    for (const RdmaCompletion& c : std::span(done).first(static_cast<std::size_t>(count)))
      if (is_own(c)) check_done(c);
  failed(status);
}

// ---- The timed region: nothing below allocates, unless it throws.

/// That many more on queue pair `q`; `last`: the last of them has a completion in any case.
void RdmaLink::post(unsigned q, unsigned count, bool last) {
  RdmaLane& lane = lanes_[q];
  RdmaWork list[RdmaEndpoint::kMostPosted];
  for (unsigned i = 0; i < count; ++i) {
    list[i] = message(q, lane.next++);
    ++lane.posted;
    if (++lane.since_signal < traffic_.moderation && !(last && i + 1 == count)) continue;
    list[i].signaled = true;
    list[i].id = static_cast<std::uint32_t>(lane.since_signal);
    lane.posted_at[lane.signals++ % lane.posted_at.size()] = now_ns();
    lane.since_signal = 0;
  }
  check_post(endpoint_.post(first_queue_ + q, {list, count}));
}

/// Messages that are done, as completions report.
unsigned RdmaLink::reap(Recorder& recorder) {
  std::array<RdmaCompletion, 16> done;
  const int count = check_poll(endpoint_.poll(done));
  if (count == 0) return 0;
  const std::uint64_t now = now_ns();
  for (int i = 0; i < count; ++i) {
    const RdmaCompletion& c = done[static_cast<unsigned>(i)];
    if (!is_own(c)) continue;  // the word that ended another link's stream of sends
    check_done(c);
    if (c.id == 0) {  // a word
      if (traffic_.counts_arrivals()) --lanes_[c.queue - first_queue_].words;
      continue;
    }
    RdmaLane& lane = lanes_[c.queue - first_queue_];
    const std::uint64_t begin = lane.posted_at[lane.reaped++ % lane.posted_at.size()];
    lane.acknowledged += c.id;
    moved_.messages += c.id;
    last_ns_ = now;
    recorder.op(begin, now, c.id * traffic_.size);
  }
  return static_cast<unsigned>(count);
}

unsigned RdmaLink::take_received() {
  std::array<RdmaCompletion, 32> done;
  const int count = check_poll(endpoint_.poll_received(done));
  for (int i = 0; i < count; ++i) {
    const RdmaCompletion& c = done[static_cast<unsigned>(i)];
    if (!is_own(c)) {
      if (c.status == 0) put_back(c);
      continue;
    }
    if (c.status != 0) receive_failed(c.status);
    const unsigned q = c.queue - first_queue_;
    ++lanes_[q].received;
    if (traffic_.counts_arrivals())
      take_datagram(q, c);
    else if (c.length == 0)
      lanes_[q].ended = true;
    else if (c.length != traffic_.size)
      throw wrong_length(c.length);
    post_receive(q);
  }
  return static_cast<unsigned>(count);
}

void RdmaLink::take_datagram(unsigned q, const RdmaCompletion& c) {
  RdmaLane& lane = lanes_[q];
  if (!arrivals_.tag.is_of_turn(c.immediate)) return arrivals_.nothing(c.id);
  if (c.length == 0) {
    arrivals_.nothing(c.id);
    if (RdmaTag::slot_or_word(c.immediate) == RdmaTag::heard) {
      lane.answered = true;
    } else {
      lane.ended = true;
      say(q, RdmaTag::heard);
    }
    return;
  }
  if (c.length != traffic_.size) throw wrong_length(c.length);
  arrivals_.came(c.id, RdmaTag::slot_or_word(c.immediate), now_ns(), moved_);
}

/// A datagram came late, from another link of this endpoint, such as a repeated end. Its receive is posted as before.
void RdmaLink::put_back(const RdmaCompletion& c) {
  check_post(
      endpoint_.receive(c.queue, area_.sink(c.id), static_cast<std::uint32_t>(traffic_.size), area_.local_key(), c.id));
}

/// Without data; left out where too many have no completion yet: words are repeated anyway.
void RdmaLink::say(unsigned q, RdmaTag::Word word) {
  RdmaLane& lane = lanes_[q];
  if (lane.words >= kMostWords) return;
  const RdmaWork work{.op = RdmaOp::send_immediate,
                      .signaled = true,
                      .local_key = area_.local_key(),
                      .immediate = arrivals_.tag.of(word),
                      .id = 0};
  check_post(endpoint_.post(first_queue_ + q, {&work, 1}));
  ++lane.words;
}

/// The end of a stream of datagrams may be lost like them. It is sent again until the partner acknowledges it.
bool RdmaLink::reported_end(unsigned q) {
  RdmaLane& lane = lanes_[q];
  const std::uint64_t now = now_ns();
  if (lane.first_stop_ns == 0) lane.first_stop_ns = now;
  if (lane.answered || now - lane.first_stop_ns > kGiveUp_ns) return true;
  if (now < lane.next_stop_ns) return false;
  say(q, RdmaTag::stop);
  lane.next_stop_ns = now + kAgain_ns;
  return false;
}

void RdmaLink::stream(Recorder& recorder) {
  const unsigned queue_pairs = traffic_.queue_pairs;
  const std::uint64_t begin = now_ns(), end = begin + static_cast<std::uint64_t>(traffic_.time_s * 1e9);
  last_ns_ = begin;
  StallWatch watch(ranks_, partner_, patience_s_);
  enum class Stage { sending, draining, over } stage = leads_ || traffic_.both() ? Stage::sending : Stage::over;
  while (stage != Stage::over || (receives_ && !all_ended())) {
    unsigned moved = receives_ || traffic_.counts_arrivals() ? take_received() : 0;
    if (stage == Stage::sending) {
      for (unsigned q = 0; q < queue_pairs; ++q)
        while (lanes_[q].posted - lanes_[q].acknowledged + traffic_.post_list <= traffic_.tx_depth)
          post(q, traffic_.post_list, false);
      if (const unsigned reaped = reap(recorder)) {
        moved += reaped;
        if (last_ns_ >= end || !recorder.running()) stage = Stage::draining;
      }
    } else if (stage == Stage::draining) {
      moved += reap(recorder);
      bool done = true;
      for (unsigned q = 0; q < queue_pairs; ++q) done = drained(q) && done;
      if (done) stage = Stage::over;
    }
    if (stage == Stage::over && traffic_.counts_arrivals()) reap(recorder);  // words
    moved > 0 ? watch.moved() : watch.waited();
  }
  while (words_left()) reap(recorder) > 0 ? watch.moved() : watch.waited();
  moved_.elapsed_ns = last_ns_ - begin;
}

bool RdmaLink::all_ended() const noexcept {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const RdmaLane& lane) { return lane.ended; });
}

bool RdmaLink::words_left() const noexcept {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const RdmaLane& lane) { return lane.words > 0; });
}

/// All messages of queue pair `q` have been acknowledged. The rest without a completion gets one. The partner of a
/// stream of sends learns that it was the last.
bool RdmaLink::drained(unsigned q) {
  RdmaLane& lane = lanes_[q];
  if (lane.since_signal > 0) {
    if (lane.posted - lane.acknowledged < traffic_.tx_depth) post(q, 1, true);
    return false;
  }
  if (lane.posted != lane.acknowledged) return false;
  if (traffic_.counts_arrivals()) return reported_end(q);
  if (traffic_.sends() && !lane.stopped) {
    const RdmaWork stop{.op = RdmaOp::send, .signaled = true, .local_key = area_.local_key(), .id = 0};
    check_post(endpoint_.post(first_queue_ + q, {&stop, 1}));
    ++lane.next;
    lane.stopped = true;
  }
  return true;
}

}  // namespace headrace::network
