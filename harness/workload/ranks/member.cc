#include "harness/workload/ranks/member.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "harness/base/printable.h"
#include "harness/base/start_thread.h"
#include "harness/base/system/socket.h"
#include "harness/workload/ranks/frame.h"
#include "harness/workload/ranks/messages.h"

namespace headrace::ranks {
namespace {

constexpr double kTry_s = 3;  // for one address, before the next is tried

/// A connection whose other end is our hub, or why not; `refused`: the hub's reason.
std::optional<Connection> try_address(const HubAddress& hub, const std::string& address, unsigned rank,
                                      std::string& why, std::string& refused) {
  const auto to = system::SocketAddress::numeric(address, hub.port);
  if (!to) return std::nullopt;
  system::Connected there = system::connected(*to, Deadline(kTry_s));
  if (there.error != 0) {
    why = fmt::format("{} port {}: {}", address, hub.port, errno_text(there.error));
    return std::nullopt;
  }
  Connection connection(std::move(there.socket));
  connection.write(Kind::hello, wire::Writer().put(hub.token).put(rank).bytes(), kTry_s);
  const Deadline answered(kTry_s);
  while (system::wait_readable(connection.fd(), answered)) {
    const bool open = connection.read_some();
    if (const auto frame = connection.next()) {
      if (frame->kind == Kind::welcome) return connection;
      if (frame->kind != Kind::refused) break;
      refused = printable(frame->bytes);
      return std::nullopt;
    }
    if (!open || connection.fd() < 0) break;
  }
  why = fmt::format("{} port {}: something answered that is not rank 0 of this run", address, hub.port);
  return std::nullopt;
}

class Member final : public Ranks {
 public:
  Member(Connection connection, unsigned rank, std::vector<RankPlace> places, double silence_s)
      : connection_(std::move(connection)), rank_(rank), places_(std::move(places)), silence_s_(silence_s) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe", "a pipe", errno);
    wake_read_ = system::UniqueFd(ends[0]);
    wake_write_ = system::UniqueFd(ends[1]);
    thread_ = start_thread<std::thread>([this] { listen(); });
  }
  ~Member() override {
    {
      const std::lock_guard lock(writing_);
      connection_.write(Kind::bye, "", 1);
    }
    wake_write_ = system::UniqueFd();
    thread_.join();
  }

  unsigned rank() const override { return rank_; }
  const std::vector<RankPlace>& places() const override { return places_; }

  std::vector<std::string> gather(std::string_view what, const std::vector<unsigned>& group, std::string_view own,
                                  double timeout_s, int root) override {
    Contribution c;
    c.group = group;
    c.root = root;
    c.timeout_s = timeout_s;
    c.what = what;
    c.own = own;
    {
      const std::lock_guard lock(mutex_);
      c.number = numbers_[group]++;
    }
    const std::string key = c.key();
    {
      const std::lock_guard lock(writing_);
      if (!connection_.write(Kind::gather, c.packed(), kWrite_s))
        throw RanksError(fmt::format("{}: {} is not there any more", what, who(0)));
    }
    std::unique_lock lock(mutex_);
    // The hub keeps the time; this side waits a little longer, for the case that the hub hangs.
    const bool answered = changed_.wait_for(lock, std::chrono::duration<double>(timeout_s + silence_s_),
                                            [&] { return answers_.count(key) != 0 || !hub_lost_.empty(); });
    const auto found = answers_.find(key);
    if (found == answers_.end()) {
      throw RanksError(fmt::format(
          "{}: {}", what, answered ? hub_lost_ : fmt::format("no word within {:g} s from {}", timeout_s, who(0))));
    }
    Answer answer = std::move(found->second);
    answers_.erase(found);
    if (!answer.failure.empty()) throw RanksError(answer.failure);
    return std::move(answer.said);
  }

  std::string lost() const override {
    const std::lock_guard lock(mutex_);
    return lost_;
  }

 private:
  struct Answer {
    std::vector<std::string> said;
    std::string failure;
  };

  void listen() {
    std::uint64_t heard_ns = now_ns();
    for (;;) {
      const std::array waits{wake_read_.get(), connection_.fd()};
      const std::vector<bool> ready = system::readable(waits, kLook_s);
      if (ready[0]) return;
      if (ready[1]) {
        heard_ns = now_ns();
        const bool open = connection_.read_some();
        try {
          while (const auto frame = connection_.next()) take(*frame);
        } catch (const RunError& e) {
          return hub_is_lost(fmt::format("{}: {}", who(0), e.what()));
        }
        if (!open || connection_.fd() < 0) return hub_is_lost(who(0) + " ended without a word");
      }
      if (seconds_since(heard_ns) > silence_s_)
        return hub_is_lost(fmt::format("{} has given no sign of life for {:g} s", who(0), silence_s_));
    }
  }

  void take(const Frame& frame) {
    if (frame.kind == Kind::ping) {
      const std::lock_guard lock(writing_);
      connection_.write(Kind::ping, "", kWrite_s);
      return;
    }
    const std::lock_guard lock(mutex_);
    if (frame.kind == Kind::lost) {
      if (lost_.empty()) lost_ = frame.bytes;
    } else if (frame.kind == Kind::result || frame.kind == Kind::failure) {
      wire::Reader in(frame.bytes);
      Answer& answer = answers_[in.get<std::string>()];
      frame.kind == Kind::result ? get_said(in, answer.said) : in.get(answer.failure);
    }
    changed_.notify_all();
  }

  void hub_is_lost(std::string why) {
    const std::lock_guard lock(mutex_);
    if (lost_.empty()) lost_ = why;
    hub_lost_ = std::move(why);
    changed_.notify_all();
  }

  Connection connection_;
  unsigned rank_;
  std::vector<RankPlace> places_;
  double silence_s_;
  system::UniqueFd wake_read_, wake_write_;
  std::mutex writing_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::vector<unsigned>, std::uint64_t> numbers_;  // of exchanges that each group had
  std::map<std::string, Answer> answers_;
  std::string lost_, hub_lost_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Ranks> join(const HubAddress& hub, unsigned rank, std::vector<RankPlace> places, double silence_s,
                            double timeout_s) {
  const std::uint64_t begin = now_ns();
  std::vector<std::string> whys(hub.addresses.size());
  std::string refused;
  for (;;) {
    for (std::size_t i = 0; i < hub.addresses.size(); ++i) {
      if (auto connection = try_address(hub, hub.addresses[i], rank, whys[i], refused))
        return std::make_unique<Member>(std::move(*connection), rank, std::move(places), silence_s);
      if (seconds_since(begin) <= timeout_s) continue;
      if (!refused.empty())
        throw RanksError(
            fmt::format("rank {} ({}) cannot join: rank 0 ({}) {}", rank, places[rank].host, places[0].host, refused));
      std::string all;
      for (const std::string& why : whys)
        if (!why.empty()) all += "; " + why;
      throw RanksError(
          fmt::format("rank {} ({}) cannot reach rank 0 ({}) within {:g} s{}; is there a firewall between "
                      "the hosts? Processes of a run speak over TCP, at ports that the kernel chooses",
                      rank, places[rank].host, places[0].host, timeout_s, all));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

std::vector<RankPlace> places_of(const std::vector<std::string>& hosts) {
  std::vector<RankPlace> places;
  std::vector<std::pair<std::string, unsigned>> nodes;  // and how many ranks each has
  for (const std::string& host : hosts) {
    auto at = std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.first == host; });
    if (at == nodes.end()) at = nodes.insert(nodes.end(), {host, 0});
    places.push_back({host, static_cast<unsigned>(at - nodes.begin()), at->second++});
  }
  return places;
}

}  // namespace headrace::ranks
