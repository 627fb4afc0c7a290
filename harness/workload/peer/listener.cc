#include "harness/workload/peer/listener.h"

#include <fmt/format.h>

#include <cerrno>

#include "harness/base/system/socket.h"
#include "harness/base/system/token.h"
#include "harness/workload/peer/greeting.h"

namespace headrace::peer {
namespace {

using ranks::Connection;
using ranks::Frame;
using ranks::Kind;

constexpr std::uint64_t kHello_ns = 5'000'000'000;     // strangers are dropped after that
constexpr std::uint64_t kLongestHello = 4096;          // of a peer that has not shown the token yet
constexpr std::size_t kMostStrangers = 64;             // at one time; then the oldest is dropped
constexpr std::uint64_t kWrongToken_ns = 200'000'000;  // a wrong token keeps its sender busy for this time
constexpr std::uint64_t kParting_ns = 2'000'000'000;   // a peer that has just ended is soon gone: the next one waits
constexpr double kListen_s = 0.1;

}  // namespace

Listener::Listener(const Endpoint& at, std::string token) : token_(std::move(token)) {
  int code = 0;
  socket_ = system::listening_at(system::SocketAddress::of_host("listen on", at.host, at.port).front(), code);
  if (!socket_)
    throw RunError(fmt::format("listen on {}:{}: {}{}", at.host, at.port, errno_text(code),
                               code == EADDRINUSE      ? ": is another `headrace run --serve` running?"
                               : code == EADDRNOTAVAIL ? ": this machine does not have this address (ip addr)"
                                                       : ""));
  address_ = system::SocketAddress::of_socket(socket_.get()).text();
}

Listener::~Listener() = default;

void Listener::wait_for_a_word() const {
  std::vector<int> waiting{socket_.get()};
  for (const Stranger& s : strangers_)
    if (s.refused.empty() && !s.greeting) waiting.push_back(s.connection.fd());
  system::readable(waiting, kListen_s);
}

void Listener::take_callers() {
  while (system::Accepted caller = system::accepted(socket_.get())) {
    const std::string local = system::SocketAddress::of_socket(caller.socket.get()).host();
    if (strangers_.size() == kMostStrangers) strangers_.erase(strangers_.begin());
    strangers_.push_back(
        {Connection(std::move(caller.socket), kLongestHello), caller.from.host(), local, now_ns(), {}, "", 0});
  }
}

std::unique_ptr<TcpPeer> Listener::greeted(Stranger& s, const std::string& bytes, const std::string& busy_with) const {
  const Greeting own = own_greeting();
  Greeting other;
  try {
    other = greeting_from(bytes, Secrets({token_}, Secrets::kWhole));
  } catch (const RunError&) {
    s.refused = "no greeting of headrace";
    return nullptr;
  }
  if (!system::same_token(other.token, token_)) {
    s.refused = "wrong token: give the one that `headrace run --serve` was started with (--token, HEADRACE_TOKEN)";
    s.answer_ns = now_ns() + kWrongToken_ns;
    return nullptr;
  }
  s.refused = versions_differ(own, other);
  if (s.refused.empty() && !busy_with.empty()) s.refused = "busy with " + busy_with + ": one peer at a time";
  if (!s.refused.empty()) return nullptr;
  if (!s.connection.write(Kind::welcome, to_bytes(own), 1)) {
    s.refused = "does not take its welcome";
    return nullptr;
  }
  s.connection.take_up_to(kLongestFrame);
  return std::make_unique<TcpPeer>(std::move(s.connection), 1, own.host, other.host, s.local);
}

std::unique_ptr<TcpPeer> Listener::hear(Stranger& s, const std::string& busy_with, const Log& log) const {
  std::unique_ptr<TcpPeer> peer;
  if (s.refused.empty()) {
    if (!s.greeting) {
      const bool open = s.connection.read_some();
      if (const std::optional<Frame> frame = s.connection.next())
        s.greeting = frame->bytes;
      else if (!open)
        s.refused = "hung up before a word";
      else if (s.connection.fd() < 0 || now_ns() - s.since_ns > kHello_ns)
        s.refused = "no greeting of headrace";
    }
    if (s.greeting && (busy_with.empty() || now_ns() - s.since_ns > kParting_ns))
      peer = greeted(s, *s.greeting, busy_with);
  }
  if (s.refused.empty() || now_ns() < s.answer_ns) return peer;
  if (s.connection.fd() >= 0) s.connection.write(Kind::welcome, to_bytes(refusal(s.refused)), 0);
  s.connection.close();
  log(fmt::format("{} was turned away: {}", s.caller, s.refused));
  return nullptr;
}

std::unique_ptr<TcpPeer> Listener::look(const std::string& busy_with, const Log& log) {
  wait_for_a_word();
  take_callers();
  std::unique_ptr<TcpPeer> peer;
  for (Stranger& s : strangers_) {
    peer = hear(s, busy_with, log);
    if (peer) break;
  }
  std::erase_if(strangers_, [](const Stranger& s) { return s.connection.fd() < 0; });
  return peer;
}

std::unique_ptr<TcpPeer> Listener::accept(double timeout_s, const Log& log, const std::function<bool()>& stop) {
  turns_away_ = {};
  const Deadline deadline(timeout_s);
  while (!deadline.over() && !stop()) {
    std::unique_ptr<TcpPeer> peer = look("", log);
    if (!peer) continue;
    turns_away_ = std::jthread([this, with = peer->host(0)](const std::stop_token& done) {
      while (!done.stop_requested()) look(with, [](const std::string&) {});
    });
    return peer;
  }
  return nullptr;
}

}  // namespace headrace::peer
