#include "harness/peer/listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "harness/clock.h"
#include "harness/peer/greeting.h"

namespace headrace::peer {
namespace {

using ranks::Connection;
using ranks::Frame;
using ranks::Kind;

constexpr double kHello_s = 5;                 // strangers are dropped after that
constexpr std::uint64_t kLongestHello = 4096;  // nobody makes this process hold more before it has shown the token
constexpr double kWrongToken_s = 0.2;            // so long a wrong token keeps its sender busy
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

bool ready(int fd, int timeout_ms) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, timeout_ms) > 0;
}

system::UniqueFd next_caller(int listening) {
  return ready(listening, kLook_ms)
             ? system::UniqueFd(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))
             : system::UniqueFd();
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

std::unique_ptr<TcpPeer> Listener::greet(system::UniqueFd socket, const std::string& busy_with,
                                         std::string& why) const {
  sockaddr_storage from{}, here{};
  socklen_t length = sizeof from, here_length = sizeof here;
  ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&from), &length);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &here_length);
  const std::string caller = name_of(from, length).address;
  const int fd = socket.get();
  Connection connection(std::move(socket), kLongestHello);
  const Greeting own = own_greeting();
  const auto refuse = [&](const std::string& reason) {
    Greeting answer = own;
    answer.refused = reason;
    connection.write(Kind::welcome, to_bytes(answer), 1);
    why = fmt::format("{} was turned away: {}", caller, reason);
    return nullptr;
  };
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(kHello_s * 1e9);
  for (;;) {
    if (const std::optional<Frame> frame = connection.next()) {
      Greeting other;
      try {
        other = greeting_from(frame->bytes);
      } catch (const RunError&) {
        return refuse("no greeting of headrace");
      }
      if (!same_token(other.token, token_)) {
        sleep_until(now_ns() + static_cast<std::uint64_t>(kWrongToken_s * 1e9));
        return refuse("wrong token: give the one that `headrace serve` was started with (--token, HEADRACE_TOKEN)");
      }
      if (const std::string differ = versions_differ(own, other); !differ.empty()) return refuse(differ);
      if (!busy_with.empty()) return refuse("busy with " + busy_with + ": one peer at a time");
      if (!connection.write(Kind::welcome, to_bytes(own), 1)) return nullptr;
      return std::make_unique<TcpPeer>(std::move(connection), 1, own.host, other.host,
                                       name_of(here, here_length).address);
    }
    if (connection.fd() < 0 || now_ns() > end) return refuse("no greeting of headrace");
    if (ready(fd, kLook_ms) && !connection.read_some()) return refuse("hung up before a word");
  }
}

std::unique_ptr<TcpPeer> Listener::accept(double timeout_s, const std::function<void(const std::string&)>& log,
                                          const std::function<bool()>& stop) {
  turns_away_ = {};
  const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(timeout_s * 1e9);
  while (now_ns() < end && !stop()) {
    system::UniqueFd caller = next_caller(socket_.get());
    if (!caller) continue;
    std::string why;
    std::unique_ptr<TcpPeer> peer = greet(std::move(caller), "", why);
    if (!why.empty()) log(why);
    if (!peer) continue;
    turns_away_ = std::jthread([this, with = peer->host(0)](const std::stop_token& done) {
      std::string ignored;
      while (!done.stop_requested())
        if (system::UniqueFd other = next_caller(socket_.get())) greet(std::move(other), with, ignored);
    });
    return peer;
  }
  return nullptr;
}

}  // namespace headrace::peer
