#include "harness/peer/tcp_peer.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "harness/base/clock.h"
#include "harness/base/diagnostics.h"
#include "harness/peer/greeting.h"
#include "harness/ranks/wire.h"

namespace headrace::peer {
namespace {

using ranks::Connection;
using ranks::Frame;
using ranks::Kind;

constexpr double kWrite_s = 10;
constexpr int kSilent_ms = 20'000;  // the kernel gives a host up that does not even acknowledge

double seconds_until(std::uint64_t end_ns) {
  const std::uint64_t now = now_ns();
  return now < end_ns ? static_cast<double>(end_ns - now) * 1e-9 : 0;
}
std::uint64_t end_of(double timeout_s) { return now_ns() + static_cast<std::uint64_t>(timeout_s * 1e9); }

bool wait_for(int fd, short events, double timeout_s) {
  pollfd ready{fd, events, 0};
  return ::poll(&ready, 1, static_cast<int>(timeout_s * 1000) + 1) > 0;
}

std::string address_text(const sockaddr_storage& address) {
  char text[NI_MAXHOST] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, text, sizeof text, nullptr, 0,
                NI_NUMERICHOST);
  return text;
}

std::string own_address(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 ? address_text(address) : "";
}

std::string words(const Endpoint& to) { return fmt::format("{}, TCP port {}", to.host, to.port); }

/// A connected socket. Throws RunError.
system::UniqueFd connected(const Endpoint& to, double timeout_s) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = ::getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found))
    throw RunError(fmt::format("peer {}: {}", to.host, ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  int code = EHOSTUNREACH;
  const std::uint64_t end = end_of(timeout_s);
  for (const addrinfo* a = found; a; a = a->ai_next) {
    system::UniqueFd socket(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    code = socket && ::connect(socket.get(), a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (code == EINPROGRESS) {
      socklen_t size = sizeof code;
      code = ETIMEDOUT;
      if (wait_for(socket.get(), POLLOUT, seconds_until(end)))
        ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    }
    if (code == 0) return socket;
  }
  const char* advice = code == ECONNREFUSED
                           ? "nobody listens there: start `headrace serve --listen ADDRESS` on that host"
                       : code == ETIMEDOUT ? "is the host up, and does no firewall stop this port?"
                                           : "is there a route to it?";
  throw RunError(fmt::format("peer {}: {}: {}", words(to), errno_text(code), advice));
}

}  // namespace

Endpoint parse_endpoint(const std::string& text, const std::string& option) {
  const auto wrong = [&](const std::string& why) {
    return UsageError(fmt::format("{}: '{}' {}; allowed: HOST, HOST:PORT, [IPV6]:PORT", option, text, why));
  };
  Endpoint endpoint;
  std::string port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos) throw wrong("has no ']'");
    endpoint.host = text.substr(1, end - 1);
    if (end + 1 < text.size() && text[end + 1] != ':') throw wrong("must go on with ':' after ']'");
    port = end + 1 < text.size() ? text.substr(end + 2) : "";
    if (end + 2 == text.size()) throw wrong("names no port after ':'");
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    endpoint.host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
    if (port.empty()) throw wrong("names no port after ':'");
  } else {
    endpoint.host = text;
  }
  if (endpoint.host.empty()) throw wrong("names no host");
  if (!port.empty()) {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number > 65535)
      throw wrong("names a port outside 0..65535");
    endpoint.port = static_cast<std::uint16_t>(number);
  }
  return endpoint;
}

TcpPeer::TcpPeer(Connection connection, unsigned rank, const std::string& own, const std::string& other,
                 std::string local_address)
    : connection_(std::move(connection)),
      rank_(rank),
      places_(rank == 0 ? std::vector<RankPlace>{{own, 0, 0}, {other, 1, 0}}
                        : std::vector<RankPlace>{{other, 0, 0}, {own, 1, 0}}),
      local_address_(std::move(local_address)) {
  const int on = 1;
  ::setsockopt(connection_.fd(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(connection_.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilent_ms, sizeof kSilent_ms);
  const int idle_s = kSilent_ms / 2000;
  ::setsockopt(connection_.fd(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
}

void TcpPeer::send(Kind kind, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!connection_.write(kind, wire::Writer().put(age_).put(text).bytes(), kWrite_s)) closed_ = true;
}

std::optional<TcpPeer::Message> TcpPeer::receive(double timeout_s) const {
  const std::uint64_t end = end_of(timeout_s);
  for (;;) {
    while (std::optional<Frame> frame = connection_.next()) {
      Message message{frame->kind, 0, ""};
      try {
        wire::Reader reader(frame->bytes);
        if (frame->kind != Kind::bye) {
          reader.get(message.age);
          reader.get(message.text);
        }
      } catch (const RunError&) {
        hang_up();
      }
      kept_.push_back(std::move(message));
    }
    if (connection_.fd() < 0 && !closed_) hang_up();
    while (!kept_.empty() && kept_.front().kind != Kind::bye && kept_.front().age < age_) kept_.pop_front();
    if (!kept_.empty()) return kept_.front();
    if (closed_) return std::nullopt;
    const double left = seconds_until(end);
    if (!wait_for(connection_.fd(), POLLIN, left)) return std::nullopt;
    if (!connection_.read_some()) closed_ = true;
  }
}

void TcpPeer::hang_up() const {
  connection_.close();
  closed_ = true;
  throw RanksError(who(other()) + " sends what is no message of headrace");
}

void TcpPeer::give_up(std::string_view what, const std::string& why) const {
  throw RanksError(fmt::format("{}: {}", what, why));
}

std::vector<std::string> TcpPeer::gather(std::string_view what, const std::vector<unsigned>& group,
                                         std::string_view own, double timeout_s, int root) {
  if (group.size() == 1) return {std::string(own)};
  send(Kind::gather, wire::Writer().put(what).put(own).bytes());
  const std::lock_guard lock(mutex_);
  const std::optional<Message> message = receive(timeout_s);
  if (!message && closed_) give_up(what, who(other()) + " ended");
  if (!message) give_up(what, fmt::format("no word within {:g} s from {}", timeout_s, who(other())));
  // A step, or a goodbye, is still to be read by next_step(): the leader went on without this.
  if (message->kind == Kind::step || message->kind == Kind::bye) give_up(what, who(other()) + " gave up");
  kept_.pop_front();
  wire::Reader reader(message->text);
  if (message->kind == Kind::failure) {
    const bool unsupported = reader.get<std::uint8_t>() != 0;
    const std::string why = host(other()) + ": " + reader.get<std::string>();
    if (unsupported) throw Unsupported(why);
    throw RunError(why);
  }
  const auto their_what = reader.get<std::string>();
  auto theirs = reader.get<std::string>();
  if (their_what != what) give_up(what, fmt::format("{} is at another step: {}", who(other()), their_what));
  if (root >= 0 && static_cast<unsigned>(root) != rank_) return {};
  return rank_ == 0 ? std::vector{std::string(own), std::move(theirs)}
                    : std::vector{std::move(theirs), std::string(own)};
}

std::string TcpPeer::lost() const {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return "";
  std::optional<Message> message;
  try {
    message = receive(0);
  } catch (const RanksError& e) {
    return e.what();
  }
  if (message && message->kind != Kind::gather) return who(other()) + " gave up";
  return !message && closed_ ? who(other()) + " ended" : "";
}

void TcpPeer::step(std::string_view text, bool fresh) {
  if (fresh) ++age_;
  send(Kind::step, text);
  if (closed_) give_up("next step", who(other()) + " ended");
}

std::optional<std::string> TcpPeer::next_step(double timeout_s) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t end = end_of(timeout_s);
  for (;;) {
    const std::optional<Message> message = receive(seconds_until(end));
    if (!message && closed_) return std::nullopt;
    if (!message) give_up("next step", fmt::format("no word within {:g} s from {}", timeout_s, who(other())));
    kept_.pop_front();
    if (message->kind == Kind::bye) return std::nullopt;
    age_ = message->age;
    if (message->kind == Kind::step) return message->text;
  }
}

void TcpPeer::fail(std::string_view why, bool unsupported) {
  send(Kind::failure, wire::Writer().put(std::uint8_t{unsupported}).put(why).bytes());
}

void TcpPeer::say_goodbye() { send(Kind::bye, ""); }

std::unique_ptr<TcpPeer> meet(const Endpoint& to, const std::string& token, double timeout_s) {
  system::UniqueFd socket = connected(to, timeout_s);
  const std::string address = own_address(socket.get());
  Connection connection(std::move(socket), kLongestFrame);
  Greeting own = own_greeting();
  own.token = token;
  const std::uint64_t end = end_of(timeout_s);
  const auto silent = [&] {
    return RunError(
        fmt::format("peer {}: connected, but headrace serve does not answer within {:g} s: does it hang, or does "
                    "something else listen there?",
                    words(to), timeout_s));
  };
  if (!connection.write(Kind::hello, to_bytes(own), timeout_s)) throw silent();
  for (;;) {
    if (const std::optional<Frame> frame = connection.next()) {
      const Greeting other = greeting_from(frame->bytes);
      if (!other.refused.empty()) throw RunError(fmt::format("peer {}: {}", words(to), other.refused));
      if (const std::string why = versions_differ(own, other); !why.empty()) throw RunError("peer: " + why);
      return std::make_unique<TcpPeer>(std::move(connection), 0, own.host, other.host, address);
    }
    if (connection.fd() < 0)
      throw RunError(
          fmt::format("peer {}: what answers there is no headrace: start `headrace serve` there, and give the "
                      "port that it prints",
                      words(to)));
    if (!wait_for(connection.fd(), POLLIN, seconds_until(end))) throw silent();
    if (!connection.read_some())
      throw RunError(
          fmt::format("peer {}: hung up before a word: is it `headrace serve` that listens there?", words(to)));
  }
}

}  // namespace headrace::peer
