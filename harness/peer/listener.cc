#include "harness/peer/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "harness/base/clock.h"
#include "harness/peer/greeting.h"

namespace headrace::peer {
namespace {

using ranks::Connection;
using ranks::Frame;
using ranks::Kind;

constexpr std::uint64_t kHello_ns = 5'000'000'000;  // strangers are dropped after that
constexpr std::uint64_t kLongestHello = 4096;       // nobody makes this process hold more before it has shown the token
constexpr std::size_t kMostStrangers = 64;          // at one time; then the oldest is dropped
constexpr std::uint64_t kWrongToken_ns = 200'000'000;  // so long a wrong token keeps its sender busy
constexpr int kLook_ms = 100;

struct Named {
  std::string address, port;
};
Named name_of(const sockaddr_storage& address, socklen_t length) {
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  return {host, port};
}

}  // namespace

Listener::Listener(const Endpoint& at, std::string token) : token_(std::move(token)) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = ::getaddrinfo(at.host.c_str(), std::to_string(at.port).c_str(), &hints, &found))
    throw RunError(fmt::format("listen on {}: {}", at.host, ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  socket_ = system::UniqueFd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket_ || ::bind(socket_.get(), found->ai_addr, found->ai_addrlen) != 0 || ::listen(socket_.get(), 8) != 0) {
    const int code = errno;
    throw RunError(fmt::format("listen on {}:{}: {}{}", at.host, at.port, errno_text(code),
                               code == EADDRINUSE      ? ": is another `headrace serve` running?"
                               : code == EADDRNOTAVAIL ? ": this machine does not have this address (ip addr)"
                                                       : ""));
  }
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  const Named name = name_of(bound, length);
  address_ = bound.ss_family == AF_INET6 ? fmt::format("[{}]:{}", name.address, name.port)
                                         : fmt::format("{}:{}", name.address, name.port);
}

Listener::~Listener() = default;

void Listener::wait_for_a_word() const {
  std::vector<pollfd> waiting{{socket_.get(), POLLIN, 0}};
  for (const Stranger& s : strangers_)
    if (s.refused.empty()) waiting.push_back({s.connection.fd(), POLLIN, 0});
  ::poll(waiting.data(), waiting.size(), kLook_ms);
}

void Listener::take_callers() {
  for (;;) {
    sockaddr_storage from{}, here{};
    socklen_t length = sizeof from, here_length = sizeof here;
    system::UniqueFd caller(
        ::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!caller) return;
    ::getsockname(caller.get(), reinterpret_cast<sockaddr*>(&here), &here_length);
    if (strangers_.size() == kMostStrangers) strangers_.erase(strangers_.begin());
    strangers_.push_back({Connection(std::move(caller), kLongestHello), name_of(from, length).address,
                          name_of(here, here_length).address, now_ns(), "", 0});
  }
}

std::unique_ptr<TcpPeer> Listener::greeted(Stranger& s, const std::string& bytes, const std::string& busy_with) const {
  const Greeting own = own_greeting();
  Greeting other;
  try {
    other = greeting_from(bytes);
  } catch (const RunError&) {
    s.refused = "no greeting of headrace";
    return nullptr;
  }
  if (!same_token(other.token, token_)) {
    s.refused = "wrong token: give the one that `headrace serve` was started with (--token, HEADRACE_TOKEN)";
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
    const bool open = s.connection.read_some();
    if (const std::optional<Frame> frame = s.connection.next())
      peer = greeted(s, frame->bytes, busy_with);
    else if (!open)
      s.refused = "hung up before a word";
    else if (s.connection.fd() < 0 || now_ns() - s.since_ns > kHello_ns)
      s.refused = "no greeting of headrace";
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
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(timeout_s * 1e9);
  while (now_ns() < end && !stop()) {
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
