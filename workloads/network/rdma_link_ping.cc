// One message at a time, to and fro between two ends.
#include <algorithm>
#include <array>

#include "harness/base/clock.h"
#include "workloads/network/rdma_link.h"

namespace headrace::network {
namespace {

constexpr unsigned char kStop = 255;  // the marker of the last ping

unsigned char marker(std::uint64_t number) noexcept { return static_cast<unsigned char>(1 + number % 100); }

}  // namespace

// ---- The timed region: nothing below allocates, unless it throws.

void RdmaLink::ping(Recorder& recorder) {
  const std::uint64_t first = now_ns(), end = first + static_cast<std::uint64_t>(traffic_.time_s * 1e9);
  std::uint64_t begin = first, number = 0;
  StallWatch watch(ranks_, partner_, patience_s_);
  while (begin < end && (number == 0 || recorder.running())) {
    to_and_fro(number, watch);
    const std::uint64_t now = now_ns(), took = now - begin;
    // Half of the way to and fro; a read's data comes back by itself.
    recorder.op(traffic_.reads() ? begin : now - took / 2, now, traffic_.size);
    begin = now;
    ++number;
  }
  moved_.messages = number;
  moved_.elapsed_ns = begin - first;
  if (!traffic_.reads()) send_marked(kStop, watch);
  collect(watch);
}

void RdmaLink::pong() {
  if (traffic_.reads()) return;  // its memory answers
  StallWatch watch(ranks_, partner_, patience_s_);
  for (std::uint64_t number = 0;; ++number) {
    if (wait_for(number, watch) == kStop) break;
    send_marked(marker(number), watch);
  }
  collect(watch);
}

void RdmaLink::to_and_fro(std::uint64_t number, StallWatch& watch) {
  send_marked(marker(number), watch);
  if (traffic_.reads()) {
    while (lanes_[0].acknowledged < lanes_[0].posted) collect_some(watch);
  } else {
    wait_for(number, watch);
  }
}

/// The last byte shows which message it is: the device writes it last.
void RdmaLink::send_marked(unsigned char mark, StallWatch& watch) {
  RdmaLane& lane = lanes_[0];
  while (lane.posted - lane.acknowledged >= traffic_.tx_depth) collect_some(watch);
  RdmaWork work = message(0, 0);
  if (!traffic_.reads()) area_.source(0)[traffic_.size - 1] = mark;
  ++lane.posted;
  ++lane.since_signal;
  if (traffic_.reads() || mark == kStop || lane.since_signal >= std::min(traffic_.moderation, traffic_.tx_depth / 2)) {
    work.signaled = true;
    work.id = static_cast<std::uint32_t>(lane.since_signal);
    lane.since_signal = 0;
  }
  check_post(endpoint_.post(first_queue_, {&work, 1}));
}

/// Until the next message is there; its mark.
unsigned char RdmaLink::wait_for(std::uint64_t number, StallWatch& watch) {
  RdmaLane& lane = lanes_[0];
  // The device writes it last: after an acquiring load of it, the bytes before have arrived, too.
  const auto last = [&] { return __atomic_load_n(area_.sink(0) + traffic_.size - 1, __ATOMIC_ACQUIRE); };
  if (traffic_.sends()) {
    RdmaCompletion done;
    while (check_poll(endpoint_.poll_received({&done, 1})) == 0) wait(watch);
    if (done.status != 0) receive_failed(done.status);
    ++lane.received;
    const unsigned char mark = last();
    if (lane.receives - lane.received < traffic_.rx_depth) post_receive(0);
    watch.moved();
    return mark;
  }
  unsigned char mark;
  while ((mark = last()) != marker(number) && mark != kStop) wait(watch);
  watch.moved();
  return mark;
}

/// Nothing has come yet: looks for errors, now and then.
void RdmaLink::wait(StallWatch& watch) {
  if (++waits_ % 1024 == 0) collect_now();
  watch.waited();
}

void RdmaLink::collect_now() {
  std::array<RdmaCompletion, 8> done;
  const int count = check_poll(endpoint_.poll(done));
  for (int i = 0; i < count; ++i) {
    const RdmaCompletion& c = done[static_cast<unsigned>(i)];
    if (!is_own(c)) continue;
    check_done(c);
    lanes_[0].acknowledged += c.id;
  }
}

void RdmaLink::collect_some(StallWatch& watch) {
  const std::uint64_t before = lanes_[0].acknowledged;
  collect_now();
  lanes_[0].acknowledged > before ? watch.moved() : watch.waited();
}

/// The rest: the last message had a completion.
void RdmaLink::collect(StallWatch& watch) {
  RdmaLane& lane = lanes_[0];
  while (lane.acknowledged + lane.since_signal < lane.posted) collect_some(watch);
  lane.acknowledged = lane.posted;
}

}  // namespace headrace::network
