#include "harness/workload/data/pipeline/step_barrier.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/clock.h"

namespace headrace::pipeline {
namespace {

constexpr unsigned kAsked = 8;  // times for the neighbour's clock: one of them is hardly kept waiting

std::int64_t difference(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); }

}  // namespace

StepBarrier::StepBarrier(Ranks& ranks, const std::vector<unsigned>& team)
    : ranks_(ranks),
      team_(team),
      self_(static_cast<unsigned>(std::find(team.begin(), team.end(), ranks.rank()) - team.begin())) {
  std::vector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned i = 1; i < team.size(); ++i) pairs.emplace_back(i, (i - 1) / kBelow);
  for (const auto& [from, to] : pairs) {
    if (from == self_) above_ = to;
    if (to == self_) below_.push_back(from);
  }
  mesh_ = std::make_unique<TcpMesh>(ranks, team, pairs, TcpMesh::Options{});
}

bool StepBarrier::say(int socket, unsigned neighbour, Word word) noexcept {
  word.phase = phase_;
  word.said_ns = now_ns();
  const auto* bytes = reinterpret_cast<const char*>(&word);
  // Messages are short, and each waits for another: one that is not sent at once fails.
  if (::send(socket, bytes, sizeof word, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof word)) return true;
  lost_ = static_cast<int>(neighbour);
  over_ = true;
  return false;
}

bool StepBarrier::hear(int socket, unsigned neighbour, Word& word, const Recorder& recorder) noexcept {
  auto* bytes = reinterpret_cast<char*>(&word);
  for (std::size_t have = 0; !over_;) {
    const ssize_t got = ::recv(socket, bytes + have, sizeof word - have, 0);
    if (got > 0) {
      have += static_cast<std::size_t>(got);
      if (have < sizeof word) continue;
      if (word.phase == phase_) {
        over_ = word.kind == Kind::over;
        return !over_;
      }
      have = 0;  // of a phase that was cut short
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      // Only between two messages: a part of one would be taken for the next. A node that waits for a slow node waits
      // as long as that one does. Each leaves when its time is over.
      if (have == 0 && !recorder.running()) over_ = true;
      continue;
    }
    lost_ = static_cast<int>(neighbour);
    over_ = true;
  }
  return false;
}

bool StepBarrier::begin(const Recorder& recorder) noexcept {
  ++phase_;
  over_ = false;
  above_ahead_ = {};
  Word word;
  for (const unsigned each : below_) {
    const int socket = mesh_->socket(each, 0);
    for (unsigned i = 0; i < kAsked; ++i)
      if (!hear(socket, each, word, recorder) || !say(socket, each, {.kind = Kind::answer})) return false;
  }
  if (self_ == 0) return true;
  const int socket = mesh_->socket(above_, 0);
  for (unsigned i = 0; i < kAsked; ++i) {
    const std::uint64_t asked_ns = now_ns();
    if (!say(socket, above_, {.kind = Kind::ask}) || !hear(socket, above_, word, recorder)) return false;
    above_ahead_.at_least(difference(word.said_ns, now_ns()));
    above_ahead_.at_most(difference(word.said_ns, asked_ns));
  }
  return true;
}

StepBarrier::End StepBarrier::meet(std::uint64_t end_ns, const Recorder& recorder) noexcept {
  End all{.over = over_, .end_ns = end_ns};
  std::array<std::uint64_t, kBelow> heard_ns{};
  Word word;
  for (std::size_t i = 0; i < below_.size() && !over_; ++i) {
    if (!hear(mesh_->socket(below_[i], 0), below_[i], word, recorder)) break;
    heard_ns[i] = now_ns();
    all.end_ns = std::max(all.end_ns, word.end_ns);
  }
  if (self_ != 0 && !over_) {
    const int socket = mesh_->socket(above_, 0);
    const auto ahead = static_cast<std::uint64_t>(above_ahead_.ns());
    const std::uint64_t said_ns = now_ns();
    if (say(socket, above_, {.kind = Kind::step, .end_ns = all.end_ns + ahead}) &&
        hear(socket, above_, word, recorder)) {
      all.end_ns = std::max(end_ns, word.end_ns - ahead);
      above_ahead_.at_least(difference(word.said_ns, now_ns()));
      above_ahead_.at_most(difference(word.heard_ns, said_ns));
    }
  }
  if (over_) {
    say_over();
    all.over = true;
    return all;
  }
  for (std::size_t i = 0; i < below_.size(); ++i)
    say(mesh_->socket(below_[i], 0), below_[i], {.kind = Kind::met, .end_ns = all.end_ns, .heard_ns = heard_ns[i]});
  return all;
}

void StepBarrier::say_over() noexcept {
  if (self_ != 0) say(mesh_->socket(above_, 0), above_, {.kind = Kind::over});
  for (const unsigned each : below_) say(mesh_->socket(each, 0), each, {.kind = Kind::over});
}

void StepBarrier::leave() noexcept {
  if (!over_) say_over();
  over_ = true;
}

std::string StepBarrier::lost() const { return lost_ < 0 ? "" : ranks_.who(team_[static_cast<unsigned>(lost_)]); }

}  // namespace headrace::pipeline
