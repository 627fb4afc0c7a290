#include "harness/workload/ranks/hub.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <span>
#include <thread>

#include "harness/base/start_thread.h"
#include "harness/base/system/own_addresses.h"
#include "harness/base/system/socket.h"
#include "harness/base/system/token.h"
#include "harness/machine/limits.h"
#include "harness/workload/ranks/frame.h"
#include "harness/workload/ranks/messages.h"

namespace headrace::ranks {
namespace {

constexpr double kHello_s = 5;                 // strangers are dropped after that
constexpr std::uint64_t kLongestHello = 4096;  // of a process that has not shown the token yet
constexpr unsigned kMoreFiles = 64;            // open files besides one a rank: strangers, and measurements
constexpr std::size_t kMostNamed = 8;          // of late ranks
constexpr double kDeathIsHeard_s = 2;          // a dead rank's peers may notice it before the hub does

struct Peer {
  Connection connection;
  std::uint64_t heard_ns = 0;
  enum class State { absent, here, left, lost } state = State::absent;
  std::string fate;  // of one that is not here any more: "rank 3 (node4) ended without a word"
};

/// A connection that has not identified itself yet.
struct Stranger {
  Connection connection;
  std::uint64_t since_ns = 0;
};

struct Exchange {
  Contribution first;
  std::uint64_t begin_ns = 0;
  std::map<unsigned, std::string> said;
  std::string failure;   // set once it cannot be complete any more
  std::string mismatch;  // ranks are at different steps
  std::uint64_t mismatch_ns = 0;
};

}  // namespace

std::string HubAddress::packed() const { return wire::Writer().put(addresses).put(port).put(token).bytes(); }

HubAddress HubAddress::unpacked(const std::string& bytes) {
  wire::Reader in(bytes);
  HubAddress a;
  in.get(a.addresses);
  in.get(a.port);
  in.get(a.token);
  return a;
}

struct Hub::Impl {
  std::vector<RankPlace> places;
  double silence_s;
  HubAddress address;
  system::UniqueFd listener, wake_read, wake_write;
  system::UniqueFd spare;  // given up for a moment, to send a caller the reason: no open file left
  std::vector<Peer> peers;
  std::vector<Stranger> strangers;
  unsigned gone = 0;  // peers that were here and are not any more
  std::map<std::string, Exchange> exchanges;
  /// Why exchanges failed, for ranks that come to one afterwards. Ranks that know it may have left since, and would be
  /// blamed.
  std::map<std::string, std::string> failures;
  std::uint64_t pinged_ns = 0;
  std::thread thread;

  std::string who(unsigned rank) const { return fmt::format("rank {} ({})", rank, places[rank].host); }

  void send(unsigned rank, Kind kind, std::string_view bytes) {
    Peer& peer = peers[rank];
    if (peer.state == Peer::State::here && !peer.connection.write(kind, bytes, kWrite_s))
      lose(rank, who(rank) + " does not take the data sent to it");
  }

  void lose(unsigned rank, std::string fate) {
    Peer& peer = peers[rank];
    if (peer.state != Peer::State::here) return;
    peer.state = Peer::State::lost;
    ++gone;
    peer.fate = std::move(fate);
    peer.connection.close();
    for (unsigned r = 0; r < peers.size(); ++r) send(r, Kind::lost, peers[rank].fate);
    settle();
  }

  void leave(unsigned rank) {
    Peer& peer = peers[rank];
    peer.state = Peer::State::left;
    ++gone;
    peer.fate = who(rank) + " has left the run";
    peer.connection.close();
    settle();
  }

  void take(unsigned rank, const std::string& bytes) {
    Contribution c = Contribution::unpacked(bytes);
    const bool known = std::all_of(c.group.begin(), c.group.end(), [&](unsigned r) { return r < peers.size(); });
    if (!known || std::find(c.group.begin(), c.group.end(), rank) == c.group.end()) return;
    const std::string key = c.key();
    if (const auto failed = failures.find(key); failed != failures.end())
      return send_failure(rank, key, failed->second);
    Exchange& exchange = exchanges[key];
    if (exchange.said.empty()) {
      exchange.begin_ns = now_ns();
    } else if (exchange.mismatch.empty() && c.what != exchange.first.what) {
      exchange.mismatch = fmt::format("{} is at '{}', {} is at '{}': one of them missed a step", who(rank), c.what,
                                      who(exchange.said.begin()->first), exchange.first.what);
      exchange.mismatch_ns = now_ns();
    }
    exchange.said[rank] = std::move(c.own);
    c.own.clear();
    exchange.first = std::move(c);
    settle();
  }

  /// Ends every exchange that is complete, that lacks a lost rank, or whose time is over.
  void settle() {
    for (bool again = true; std::exchange(again, false);) {
      for (auto at = exchanges.begin(); at != exchanges.end(); ++at) {
        if (!ended(at->second)) continue;
        Exchange done = std::move(at->second);
        const std::string key = at->first;
        exchanges.erase(at);
        answer(key, done);  // may lose a rank, and come back here
        again = true;
        break;
      }
    }
  }

  bool ended(Exchange& exchange) const {
    // Asked at each word of each rank: the ranks are looked through only where that can show anything.
    if (exchange.mismatch.empty() && exchange.said.size() == exchange.first.group.size()) return true;
    for (const unsigned rank : gone > 0 ? std::span(exchange.first.group) : std::span<const unsigned>()) {
      const Peer& peer = peers[rank];
      if (exchange.said.count(rank) != 0 || (peer.state != Peer::State::lost && peer.state != Peer::State::left))
        continue;
      exchange.failure = fmt::format("{}: {}", exchange.first.what, peer.fate);
      return true;
    }
    if (!exchange.mismatch.empty()) return misses_a_step(exchange);
    if (seconds_since(exchange.begin_ns) < exchange.first.timeout_s) return false;
    exchange.failure = fmt::format("{}: no word within {:g} s from {}", exchange.first.what, exchange.first.timeout_s,
                                   late_ones(exchange));
    return true;
  }

  /// Ranks that lose a peer give up at different steps: then the lost peer is the cause.
  bool misses_a_step(Exchange& exchange) const {
    const auto lost = std::ranges::find(peers, Peer::State::lost, &Peer::state);
    if (lost == peers.end() && seconds_since(exchange.mismatch_ns) < kDeathIsHeard_s) return false;
    exchange.failure = lost == peers.end() ? exchange.mismatch : fmt::format("{}: {}", exchange.first.what, lost->fate);
    return true;
  }

  std::string late_ones(const Exchange& exchange) const {
    std::string late;
    std::size_t count = 0;
    for (const unsigned rank : exchange.first.group)
      if (exchange.said.count(rank) == 0 && ++count <= kMostNamed) late += (late.empty() ? "" : ", ") + who(rank);
    return count <= kMostNamed ? late : fmt::format("{} and {} more", late, count - kMostNamed);
  }

  void answer(const std::string& key, const Exchange& exchange) {
    wire::Writer all, nothing;
    if (exchange.failure.empty()) {
      std::vector<std::string> said;
      for (const unsigned rank : exchange.first.group) said.push_back(exchange.said.at(rank));
      put_said(all.put(key), said);
      put_said(nothing.put(key), {});
    } else {
      failures[key] = exchange.failure;
    }
    for (const auto& [rank, own] : exchange.said) {
      if (!exchange.failure.empty()) {
        send_failure(rank, key, exchange.failure);
      } else {
        const bool gets = exchange.first.root < 0 || exchange.first.root == static_cast<int>(rank);
        send(rank, Kind::result, (gets ? all : nothing).bytes());
      }
    }
  }

  void send_failure(unsigned rank, const std::string& key, const std::string& why) {
    send(rank, Kind::failure, wire::Writer().put(key).put(why).bytes());
  }

  void accept_strangers() {
    for (;;) {
      system::Accepted caller = system::accepted(listener.get());
      if (caller.no_room && !turn_away()) return;
      if (caller) strangers.push_back({Connection(std::move(caller.socket), kLongestHello), now_ns()});
      if (!caller && !caller.no_room) return;
    }
  }

  /// Sends the next waiting stranger the reason why none can be let in. False: none waits, or not even that succeeds.
  bool turn_away() {
    if (!spare) return false;
    spare = system::UniqueFd();
    system::Accepted caller = system::accepted(listener.get());
    const bool there = static_cast<bool>(caller);
    if (there)
      Connection(std::move(caller.socket), kLongestHello)
          .write(Kind::refused, "has no open file left for another connection: raise the limit (ulimit -n)", 1);
    spare = system::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return there;
  }

  /// True when it is a stranger no more, for better or worse.
  bool meet(Stranger& stranger) {
    if (!stranger.connection.read_some()) return true;
    const std::optional<Frame> frame = stranger.connection.next();
    if (!frame) return stranger.connection.fd() < 0;
    if (frame->kind != Kind::hello) return true;
    wire::Reader in(frame->bytes);
    const auto token = in.get<std::string>();
    const auto rank = in.get<unsigned>();
    if (!system::same_token(token, address.token) || rank >= peers.size() || peers[rank].state != Peer::State::absent)
      return true;
    Peer& peer = peers[rank];
    peer.connection = std::move(stranger.connection);
    peer.connection.take_up_to(kLongestFrame);
    peer.heard_ns = now_ns();
    peer.state = Peer::State::here;
    send(rank, Kind::welcome, "");
    for (const Peer& other : peers)
      if (other.state == Peer::State::lost) send(rank, Kind::lost, other.fate);
    return true;
  }

  void hear(unsigned rank) {
    Peer& peer = peers[rank];
    const bool open = peer.connection.read_some();
    while (peer.state == Peer::State::here) {
      const std::optional<Frame> frame = peer.connection.next();
      if (!frame) break;
      peer.heard_ns = now_ns();
      if (frame->kind == Kind::gather) take(rank, frame->bytes);
      if (frame->kind == Kind::bye) leave(rank);
    }
    if (!open || (peer.state == Peer::State::here && peer.connection.fd() < 0))
      lose(rank, who(rank) + " ended without a word");
  }

  void ping() {
    if (seconds_since(pinged_ns) < std::min(0.5, silence_s / 4)) return;
    pinged_ns = now_ns();
    for (unsigned rank = 0; rank < peers.size(); ++rank) {
      if (peers[rank].state != Peer::State::here) continue;
      if (seconds_since(peers[rank].heard_ns) > silence_s)
        lose(rank, fmt::format("{} has given no sign of life for {:g} s", who(rank), silence_s));
      else
        send(rank, Kind::ping, "");
    }
  }

  void run() {
    for (;;) {
      std::vector<int> waits{wake_read.get(), listener.get()};
      std::vector<unsigned> here;
      for (unsigned r = 0; r < peers.size(); ++r) {
        if (peers[r].state != Peer::State::here) continue;
        here.push_back(r);
        waits.push_back(peers[r].connection.fd());
      }
      for (const Stranger& s : strangers) waits.push_back(s.connection.fd());
      const std::vector<bool> ready = system::readable(waits, kLook_s);
      if (ready[0]) return;
      for (std::size_t i = 0; i < here.size(); ++i)
        if (ready[i + 2]) guarded(here[i]);
      std::erase_if(strangers, [this](Stranger& s) { return meet_guarded(s); });
      accept_strangers();
      ping();
      settle();
    }
  }
  void guarded(unsigned rank) {
    try {
      hear(rank);
    } catch (const RunError& e) {
      lose(rank, fmt::format("{}: {}", who(rank), e.what()));
    }
  }
  bool meet_guarded(Stranger& stranger) {
    try {
      return meet(stranger) || seconds_since(stranger.since_ns) > kHello_s;
    } catch (const RunError&) {
      return true;
    }
  }
};

Hub::Hub(std::vector<RankPlace> places, double silence_s) : impl_(std::make_unique<Impl>()) {
  impl_->places = std::move(places);
  impl_->silence_s = silence_s;
  impl_->peers = std::vector<Peer>(impl_->places.size());
  const std::uint64_t needed = impl_->places.size() + kMoreFiles;
  if (const std::uint64_t room = system::make_room_for_files(needed); room < needed)
    throw RunError(fmt::format(
        "rank 0 ({}) needs {} more open files, one for each rank among them, and may open {}: raise the limit on that "
        "host (ulimit -n; LimitNOFILE of the service that starts jobs)",
        impl_->places.front().host, needed, room));
  impl_->spare = system::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  impl_->address.addresses = system::own_addresses();
  impl_->address.token = system::new_token();
  impl_->listener = system::listening();
  impl_->address.port = system::SocketAddress::of_socket(impl_->listener.get()).port();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe", "a pipe", errno);
  impl_->wake_read = system::UniqueFd(ends[0]);
  impl_->wake_write = system::UniqueFd(ends[1]);
  impl_->thread = start_thread<std::thread>([this] { impl_->run(); });
}

Hub::~Hub() {
  impl_->wake_write = system::UniqueFd();
  impl_->thread.join();
}

HubAddress Hub::address() const { return impl_->address; }

}  // namespace headrace::ranks
