#include "harness/workload/network/tcp_mesh.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <set>
#include <thread>

#include "harness/base/start_thread.h"
#include "harness/base/system/socket.h"
#include "harness/record/ranks/wire.h"
#include "harness/workload/network/tcp_door.h"

namespace headrace {
namespace {

using system::UniqueFd;
using Sockets = std::map<unsigned, std::vector<UniqueFd>>;

constexpr timeval kCall{0, 200'000};
constexpr double kLate_s = 2;  // a caller that was in time may be answered this much later
constexpr std::size_t kCallsAtOnce = 16;
constexpr const char* kAdvice = "is there a firewall between them?";

/// The interface that sockets are bound to; "" = none.
std::string bound_to(const TcpMesh::Options& options) { return options.bind ? options.interface : ""; }

/// Where every host reaches itself.
bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

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

/// One connection to a partner, tried until the deadline; none, and why.
UniqueFd call(const TcpDoor& door, const TcpHello& hello, std::string& address, const TcpMesh::Options& options,
              const Deadline& deadline, std::string& why) {
  for (;;) {
    why.clear();
    UniqueFd stream = call_door(door, address, hello, bound_to(options), why);
    if (stream || deadline.over()) return stream;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// All streams to one partner. Returns the error, or "".
std::string call_all(const TcpDoor& door, unsigned self, std::string& address, std::vector<UniqueFd>& streams,
                     const TcpMesh::Options& options, const Deadline& deadline) {
  TcpHello hello(door.token, self, 0);
  for (UniqueFd& stream : streams) {
    std::string why;
    if (!(stream = call(door, hello, address, options, deadline, why))) return why;
    settle(stream.get(), options);
    ++hello.stream;
  }
  return "";
}

/// Calls back each caller of this rank: its number is that of no stream. Returns the error, or "".
std::string call_back(const TcpDoor& door, unsigned self, const TcpMesh::Options& options, const Deadline& deadline) {
  std::string address, why;
  const TcpHello hello(door.token, self, options.streams);
  return call(door, hello, address, options, deadline, why) ? "" : why;
}

/// Takes the calls of partners, on its own thread: a caller must also be answered during its own calls.
class Answering {
 public:
  Answering(int listener, const std::string& token, const TcpMesh::Options& options, Sockets& sockets,
            std::size_t expected)
      : callers_(listener, token), options_(options), sockets_(sockets), expected_(expected) {
    thread_ = start_thread([this] { run(Deadline(options_.timeout_s + kLate_s)); });
  }
  /// Waits until all have called, or until it is too late.
  ~Answering() { thread_.join(); }
  void give_up() { give_up_ = true; }

 private:
  void run(const Deadline& deadline) {
    for (std::size_t answered = 0; answered < expected_ && !give_up_ && !deadline.over();)
      if (answer()) ++answered;
  }

  /// True when one more stream is there.
  bool answer() {
    TcpCaller caller = callers_.next(Deadline(0.1));
    if (!caller) return false;
    const auto at = sockets_.find(caller.hello.from);
    if (at == sockets_.end()) return false;
    if (caller.hello.stream == at->second.size())
      return welcome(caller.socket.get()) && called_back_.insert(caller.hello.from).second;
    if (caller.hello.stream > at->second.size()) return false;
    UniqueFd& stream = at->second[caller.hello.stream];
    settle(caller.socket.get(), options_);
    if (!welcome(caller.socket.get())) return false;
    // One that calls again did not hear the first answer.
    const bool again = static_cast<bool>(stream);
    stream = std::move(caller.socket);
    return !again;
  }

  TcpCallers callers_;
  const TcpMesh::Options& options_;
  Sockets& sockets_;
  const std::size_t expected_;
  std::set<unsigned> called_back_;
  std::atomic<bool> give_up_{false};
  std::jthread thread_;
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
  TcpDoor own{};
  UniqueFd listener{};
  std::vector<std::string> back = std::vector<std::string>(team.size());  // why each of the team cannot be called back

  std::string who(unsigned partner) const { return ranks.who(team[partner]); }

  std::string cannot_connect(unsigned partner, const std::string& why) const {
    return fmt::format("cannot connect to {} within {:g} s: {}; {}", who(partner), options.timeout_s, why, kAdvice);
  }

  /// Returns the error, or "".
  std::string open() {
    try {
      const auto at = system::SocketAddress::numeric(options.address, 0);
      listener = open_door(own, options.interface, options.bind);
      if (!at) return "";
      int error = 0;
      listener = system::listening_at(*at, error);
      if (!listener) return fmt::format("cannot listen at {}: {}", options.address, errno_text(error));
      own.addresses = {options.address};
      own.port = system::SocketAddress::of_socket(listener.get()).port();
      return "";
    } catch (const RunError& e) {
      return e.what();
    }
  }

  /// Calls its partners, several at a time, so that a silent one delays no other. It answers the others in parallel.
  /// Returns for each of the team the error, or "".
  std::vector<std::string> connect(const Partners& partners, unsigned self, const std::vector<std::string>& doors) {
    std::vector<std::string> wrong(team.size());
    const Deadline deadline(options.timeout_s);
    {
      const std::size_t back_calls = options.both_ways ? partners.to_call.size() : 0;
      Answering answering(listener.get(), own.token, options, sockets,
                          partners.callers.size() * options.streams + back_calls);
      for (const unsigned partner : partners.to_call) addresses[partner];  // each thread has its own from now on
      std::vector<unsigned> all = partners.to_call;
      if (options.both_ways) all.insert(all.end(), partners.callers.begin(), partners.callers.end());
      std::atomic<std::size_t> next{0};
      const auto most = static_cast<unsigned>(std::min(kCallsAtOnce, all.size()));
      const auto call = [&] {
        for (std::size_t i = next++; i < all.size(); i = next++) {
          const unsigned partner = all[i];
          TcpDoor door = TcpDoor::unpacked(doors.at(partner));
          if (door.port == 0) continue;
          if (ranks.host(team[partner]) != ranks.host(team[self])) std::erase_if(door.addresses, is_loopback);
          if (i >= partners.to_call.size()) {
            const std::string why = call_back(door, self, options, deadline);
            if (!why.empty()) back[partner] = cannot_connect(partner, why);
            continue;
          }
          std::vector<UniqueFd>& streams = sockets.at(partner);
          const std::string why = call_all(door, self, addresses.at(partner), streams, options, deadline);
          if (!incomplete(streams)) continue;
          if (!options.partial) answering.give_up();
          wrong[partner] = cannot_connect(partner, why);
        }
      };
      try {
        if (!all.empty()) start_threads(most, [&](unsigned) { call(); });
      } catch (const RunError&) {
        answering.give_up();
        throw;
      }
    }
    for (const unsigned caller : partners.callers)
      if (incomplete(sockets.at(caller)))
        wrong[caller] = fmt::format("no connection from {} within {:g} s; {}", who(caller), options.timeout_s, kAdvice);
    return wrong;
  }
};

/// One rank's message to the others about its connections.
struct Reported {
  std::string trouble;                   // it has no door at all
  std::vector<std::string> wrong, back;  // of each of the team

  std::string packed() const { return wire::Writer().put(trouble).put(wrong).put(back).bytes(); }
  static Reported unpacked(const std::string& bytes) {
    Reported reported;
    wire::Reader in(bytes);
    in.get(reported.trouble);
    in.get(reported.wrong);
    in.get(reported.back);
    return reported;
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
  Reported own{making.open(), std::vector<std::string>(team.size()), {}};
  const auto doors = ranks.gather("TCP addresses", team, making.own.packed(), options.timeout_s);
  try {
    if (own.trouble.empty()) own.wrong = making.connect(partners, self, doors);
  } catch (const RunError& e) {  // no threads: the others hear of it
    own.trouble = e.what();
  }
  own.back = making.back;
  std::vector<Reported> reported;
  for (const std::string& bytes : ranks.gather("TCP connections", team, own.packed(), 3 * options.timeout_s + 10))
    reported.push_back(Reported::unpacked(bytes));
  for (std::size_t i = 0; i < reported.size(); ++i)
    if (!reported[i].trouble.empty()) throw RunError(ranks.who(team[i]) + " " + reported[i].trouble);
  for (const auto& [a, b] : pairs) {
    const bool by_caller = !reported[a].wrong[b].empty();
    const std::string &why = by_caller ? reported[a].wrong[b] : reported[b].wrong[a], &back = reported[b].back[a];
    if (!why.empty())
      unreached_.push_back({a, b, ranks.who(team[by_caller ? a : b]) + " " + why});
    else if (!back.empty())
      unreached_.push_back({b, a, ranks.who(team[b]) + " " + back});
    if (why.empty()) continue;
    if (a == self) sockets_.erase(b);  // streams of theirs that were made all the same
    if (b == self) sockets_.erase(a);
  }
  if (!unreached_.empty() && !options.partial) throw RunError(unreached_.front().why);
}

}  // namespace headrace
