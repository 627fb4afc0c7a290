#include "harness/network/tcp_mesh.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "harness/ranks/wire.h"
#include "harness/system/own_addresses.h"
#include "harness/system/socket.h"
#include "harness/system/token.h"

namespace headrace {
namespace {

using system::UniqueFd;
using Sockets = std::map<unsigned, std::vector<UniqueFd>>;

constexpr timeval kCall{0, 200'000};
constexpr double kTry_s = 2;      // for one address, before the next is tried
constexpr double kHello_s = 0.2;  // for the first bytes of a caller
constexpr const char* kAdvice = "is there a firewall between them?";

/// The first bytes of a connection: who calls, and that it is one of ours.
struct Hello {
  std::array<char, 16> token{};
  std::uint32_t from = 0, stream = 0;
};

/// Where a rank is called.
struct Door {
  std::vector<std::string> addresses;
  std::uint16_t port = 0;  // 0: it could not open one, and tells itself why
  std::string token;

  std::string packed() const { return wire::Writer().put(addresses).put(port).put(token).bytes(); }
  static Door unpacked(const std::string& bytes) {
    Door door;
    wire::Reader in(bytes);
    in.get(door.addresses);
    in.get(door.port);
    in.get(door.token);
    return door;
  }
};

/// The interface that sockets are bound to; "" = none.
std::string bound_to(const TcpMesh::Options& options) { return options.bind ? options.interface : ""; }

/// Opens `door`; throws RunError.
UniqueFd open_door(Door& door, const TcpMesh::Options& options) {
  std::vector<std::string> addresses = system::own_addresses(options.interface);
  if (addresses.empty())
    throw RunError(options.interface.empty() ? "no network interface is up"
                                             : "interface " + options.interface + " is not there, or has no address");
  UniqueFd listener = system::listening(bound_to(options));
  door = {std::move(addresses), system::SocketAddress::of_socket(listener.get()).port(), system::new_token()};
  return listener;
}

/// As the streams of a workload want it.
void settle(int fd, const TcpMesh::Options& options) {
  system::set_blocking(fd, true);
  system::send_at_once(fd);
  if (const int size = static_cast<int>(options.buffer); size > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  }
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kCall, sizeof kCall);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kCall, sizeof kCall);
}

/// Says who calls, and hears that it is welcome. The errno, or 0.
int greeted(int fd, const Hello& hello) {
  const Deadline deadline(kTry_s);
  char answer = 0;
  const bool welcome = system::send_all(fd, {reinterpret_cast<const char*>(&hello), sizeof hello}, deadline) &&
                       system::receive_all(fd, {&answer, 1}, deadline) && answer == 'y';
  return welcome ? 0 : ECONNREFUSED;
}

/// One connection to a door, or none, and `why`. `address`: where it was reached before, if it was.
UniqueFd call(const Door& door, std::string& address, const Hello& hello, const TcpMesh::Options& options,
              std::string& why) {
  const std::vector<std::string> addresses = address.empty() ? door.addresses : std::vector<std::string>{address};
  for (const std::string& text : addresses) {
    const auto to = system::SocketAddress::numeric(text, door.port);
    if (!to) continue;
    system::Connected there = system::connected(*to, Deadline(kTry_s), bound_to(options));
    if (there.error == 0) {
      settle(there.socket.get(), options);
      there.error = greeted(there.socket.get(), hello);
    }
    if (there.error == 0) {
      address = text;
      return std::move(there.socket);
    }
    why += fmt::format("{}{} port {}: {}", why.empty() ? "" : "; ", text, door.port, errno_text(there.error));
  }
  return {};
}

/// All streams to one partner, tried until the deadline. What is wrong, or "".
std::string call_all(const Door& door, unsigned self, std::string& address, std::vector<UniqueFd>& streams,
                     const TcpMesh::Options& options, const Deadline& deadline) {
  Hello hello;
  hello.from = self;
  std::copy_n(door.token.begin(), std::min(door.token.size(), hello.token.size()), hello.token.begin());
  for (UniqueFd& stream : streams) {
    std::string why;
    while (!(stream = call(door, address, hello, options, why))) {
      if (deadline.over()) return why;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      why.clear();
    }
    ++hello.stream;
  }
  return "";
}

/// Takes the calls of partners, on a thread of its own: whoever calls another must be answered meanwhile.
class Answering {
 public:
  Answering(int listener, const std::string& token, const TcpMesh::Options& options, Sockets& sockets,
            std::size_t expected)
      : listener_(listener), token_(token), options_(options), sockets_(sockets), expected_(expected) {
    thread_ = std::thread([this] { run(Deadline(options_.timeout_s + kTry_s)); });
  }
  /// Waits until all have called, or until it is too late.
  ~Answering() { thread_.join(); }
  void give_up() { give_up_ = true; }

 private:
  void run(const Deadline& deadline) {
    for (std::size_t answered = 0; answered < expected_ && !give_up_ && !deadline.over();)
      if (system::wait_readable(listener_, Deadline(0.1)) && answer()) ++answered;
  }

  /// True when one more stream is there.
  bool answer() {
    UniqueFd fd = system::accepted(listener_).socket;
    if (!fd) return false;
    Hello hello;
    if (!system::receive_all(fd.get(), {reinterpret_cast<char*>(&hello), sizeof hello}, Deadline(kHello_s)) ||
        !system::same_token({hello.token.begin(), hello.token.end()}, token_))
      return false;
    const auto at = sockets_.find(hello.from);
    if (at == sockets_.end() || hello.stream >= at->second.size()) return false;
    settle(fd.get(), options_);
    if (!system::send_all(fd.get(), "y", Deadline(kHello_s))) return false;
    // One that calls again did not hear the first answer.
    const bool again = static_cast<bool>(at->second[hello.stream]);
    at->second[hello.stream] = std::move(fd);
    return !again;
  }

  const int listener_;
  const std::string token_;
  const TcpMesh::Options& options_;
  Sockets& sockets_;
  const std::size_t expected_;
  std::atomic<bool> give_up_{false};
  std::thread thread_;
};

bool incomplete(const std::vector<UniqueFd>& streams) {
  return std::any_of(streams.begin(), streams.end(), [](const UniqueFd& s) { return !s; });
}

struct Partners {
  std::vector<unsigned> to_call, callers;  // of team indices

  Partners(const std::vector<std::pair<unsigned, unsigned>>& pairs, unsigned self) {
    for (const auto& [a, b] : pairs) {
      if (a == self) to_call.push_back(b);
      if (b == self) callers.push_back(a);
    }
  }
};

/// The connections of one rank while they are made.
struct Making {
  Ranks& ranks;
  const std::vector<unsigned>& team;
  const TcpMesh::Options& options;
  Sockets& sockets;
  std::map<unsigned, std::string>& addresses;
  Door own{};
  UniqueFd listener{};

  std::string who(unsigned partner) const { return ranks.who(team[partner]); }

  /// What is wrong, or "".
  std::string open() {
    try {
      listener = open_door(own, options);
      return "";
    } catch (const RunError& e) {
      return e.what();
    }
  }

  /// Calls who is to be called, in turn, and answers the others meanwhile. What is wrong, or "".
  std::string connect(const Partners& partners, unsigned self, const std::vector<std::string>& doors) {
    const Deadline deadline(options.timeout_s);
    Answering answering(listener.get(), own.token, options, sockets, partners.callers.size() * options.streams);
    for (const unsigned partner : partners.to_call) {
      const Door door = Door::unpacked(doors.at(partner));
      if (door.port == 0) continue;
      const std::string why = call_all(door, self, addresses[partner], sockets[partner], options, deadline);
      if (!incomplete(sockets[partner])) continue;
      answering.give_up();
      return fmt::format("cannot connect to {} within {:g} s: {}; {}", who(partner), options.timeout_s, why, kAdvice);
    }
    return "";
  }

  std::string missing(const std::vector<unsigned>& callers) const {
    std::string absent;
    for (const unsigned caller : callers)
      if (incomplete(sockets[caller])) absent += (absent.empty() ? "" : ", ") + who(caller);
    if (absent.empty()) return "";
    return fmt::format("no connection from {} within {:g} s; {}", absent, options.timeout_s, kAdvice);
  }
};

}  // namespace

TcpMesh::TcpMesh(Ranks& ranks, const std::vector<unsigned>& team,
                 const std::vector<std::pair<unsigned, unsigned>>& pairs, const Options& options) {
  const auto self = static_cast<unsigned>(std::find(team.begin(), team.end(), ranks.rank()) - team.begin());
  const Partners partners(pairs, self);
  for (const auto& some : {partners.to_call, partners.callers})
    for (const unsigned partner : some) sockets_[partner].resize(options.streams);
  Making making{ranks, team, options, sockets_, addresses_};
  std::string trouble = making.open();
  const auto doors = ranks.gather("TCP addresses", team, making.own.packed(), options.timeout_s);
  if (trouble.empty()) trouble = making.connect(partners, self, doors);
  if (trouble.empty()) trouble = making.missing(partners.callers);
  const auto troubles = ranks.gather("TCP connections", team, trouble, 3 * options.timeout_s + 10);
  for (std::size_t i = 0; i < troubles.size(); ++i)
    if (!troubles[i].empty()) throw RunError(ranks.who(team[i]) + " " + troubles[i]);
}

}  // namespace headrace
