#include "harness/workload/peer/tcp_peer.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <condition_variable>

#include "harness/base/clock.h"
#include "harness/base/deadline.h"
#include "harness/base/diagnostics.h"
#include "harness/base/system/socket.h"
#include "harness/record/ranks/wire.h"
#include "harness/workload/peer/greeting.h"

namespace headrace::peer {
namespace {

using ranks::Connection;
using ranks::Frame;
using ranks::Kind;

constexpr double kWrite_s = 10;
constexpr std::chrono::milliseconds kPing{500};
constexpr double kLook_s = 0.5;     // between two looks whether the other end is silent
constexpr int kSilent_ms = 20'000;  // the kernel gives a host up that does not even acknowledge

std::string words(const Endpoint& to) { return fmt::format("{}, TCP port {}", to.host, to.port); }

/// A connected socket. Throws RunError.
system::UniqueFd connected(const Endpoint& to, double timeout_s) {
  int code = EHOSTUNREACH;
  const Deadline deadline(timeout_s);
  for (const system::SocketAddress& address : system::SocketAddress::of_host("peer", to.host, to.port)) {
    system::Connected there = system::connected(address, deadline);
    code = there.error;
    if (code == 0) return std::move(there.socket);
  }
  const char* advice = code == ECONNREFUSED
                           ? "no program listens there: start `headrace run --serve ADDRESS` on that host"
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
                 std::string local_address, double silence_s, Secrets secrets)
    : connection_(std::move(connection)),
      rank_(rank),
      places_(rank == 0 ? std::vector<RankPlace>{{own, 0, 0}, {other, 1, 0}}
                        : std::vector<RankPlace>{{other, 0, 0}, {own, 1, 0}}),
      local_address_(std::move(local_address)),
      silence_s_(silence_s),
      secrets_(std::move(secrets)) {
  system::give_up_after(connection_.fd(), kSilent_ms);
  pinging_ = std::jthread([this](const std::stop_token& asked) { ping(asked); });
}

void TcpPeer::ping(const std::stop_token& asked) {
  std::mutex own;
  std::condition_variable_any waiting;
  std::unique_lock held(own);
  while (!waiting.wait_for(held, asked, kPing, [&] { return asked.stop_requested(); })) {
    const std::unique_lock lock(mutex_, std::try_to_lock);  // the holder sends or waits for the other end
    if (!lock || closed_ || connection_.fd() < 0) continue;
    int unread = 0;  // an end that is stopped gets no pile of them
    if (::ioctl(connection_.fd(), SIOCOUTQ, &unread) != 0 || unread > 0) continue;
    if (!connection_.write(Kind::ping, "", kWrite_s)) closed_ = true;
  }
}

void TcpPeer::send(Kind kind, std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!connection_.write(kind, wire::Writer().put(age_).put(text).bytes(), kWrite_s)) closed_ = true;
}

std::optional<TcpPeer::Message> TcpPeer::receive(double timeout_s) const {
  const Deadline deadline(timeout_s);
  for (;;) {
    while (std::optional<Frame> frame = connection_.next()) {
      heard_ns_ = now_ns();
      if (frame->kind == Kind::ping) continue;
      Message message{frame->kind, 0, ""};
      try {
        wire::Reader reader(frame->bytes);
        if (frame->kind != Kind::bye) {
          reader.get(message.age);
          reader.get(message.text);
          message.text = secrets_.struck_out(message.text);
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
    if (!system::wait_readable(connection_.fd(), deadline)) return std::nullopt;
    if (!connection_.read_some()) closed_ = true;
  }
}

void TcpPeer::hang_up() const {
  connection_.close();
  closed_ = true;
  throw RanksError(who(other()) + " sends other data than headrace's messages");
}

void TcpPeer::give_up(std::string_view what, const std::string& why) const {
  throw RanksError(fmt::format("{}: {}", what, why));
}

std::vector<std::string> TcpPeer::gather(std::string_view what, const std::vector<unsigned>& group,
                                         std::string_view own, double timeout_s, int root) {
  if (group.size() == 1) return {std::string(own)};
  send(Kind::gather, wire::Writer().put(what).put(own).bytes());
  const std::lock_guard lock(mutex_);
  const Deadline deadline(timeout_s);
  heard_ns_ = now_ns();
  std::optional<Message> message;
  do {
    message = receive(std::min(kLook_s, deadline.left_s()));
    if (message || closed_) break;
    if (const double silent_s = 1e-9 * static_cast<double>(now_ns() - heard_ns_); silent_s > silence_s_)
      give_up(what, fmt::format("no sign of life from {} for {:g} s", who(other()), silence_s_));
  } while (!deadline.over());
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
  const Deadline deadline(timeout_s);
  for (;;) {
    const std::optional<Message> message = receive(deadline.left_s());
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
  const std::string address = system::SocketAddress::of_socket(socket.get()).host();
  Connection connection(std::move(socket), kLongestFrame);
  Greeting own = own_greeting();
  own.token = token;
  const Deadline deadline(timeout_s);
  const auto silent = [&] {
    return RunError(
        fmt::format("peer {}: connected, but headrace run --serve does not answer within {:g} s: does it hang, or does "
                    "something else listen there?",
                    words(to), timeout_s));
  };
  if (!connection.write(Kind::hello, to_bytes(own), timeout_s)) throw silent();
  for (;;) {
    if (const std::optional<Frame> frame = connection.next()) {
      const Secrets secrets({token}, Secrets::kWhole);
      const Greeting other = greeting_from(frame->bytes, secrets);
      if (!other.refused.empty()) throw RunError(fmt::format("peer {}: {}", words(to), other.refused));
      if (const std::string why = versions_differ(own, other); !why.empty()) throw RunError("peer: " + why);
      return std::make_unique<TcpPeer>(std::move(connection), 0, own.host, other.host, address, kSilence_s, secrets);
    }
    if (connection.fd() < 0)
      throw RunError(fmt::format(
          "peer {}: the program at that port is not headrace: start `headrace run --serve` there, and give the "
          "port that it prints",
          words(to)));
    if (!system::wait_readable(connection.fd(), deadline)) throw silent();
    if (!connection.read_some())
      throw RunError(
          fmt::format("peer {}: hung up before a word: is it `headrace run --serve` that listens there?", words(to)));
  }
}

}  // namespace headrace::peer
