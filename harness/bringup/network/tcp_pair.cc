#include "harness/bringup/network/tcp_pair.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/start_thread.h"
#include "harness/base/system/socket.h"
#include "harness/machine/tcp_counts.h"

namespace headrace {
namespace {

using system::UniqueFd;
using Streams = std::vector<UniqueFd>;

constexpr std::size_t kBlock = 128 << 10, kSmallBlock = 16 << 10;  // of one send
constexpr double kSlowTime = 0.4;                                  // of the time
constexpr double kLeastPace = 64 << 10;                            // of a stream [B/s]
constexpr double kWarm = 0.2;                                      // of the time, until windows are open
constexpr double kUntil = 0.9;                                     // the other end is still sending then
constexpr double kSilence_s = 5;                                   // of the other end
constexpr std::size_t kPing = 64;                                  // bytes
constexpr char kMore = 'm', kLast = 'l';                           // the first byte of each block, or ping

constexpr double kCallBack_s = 3 * kTryAddresses_s + 1;  // for all addresses, and a welcome
constexpr double kLookAgain_s = 0.1;
constexpr char kTried = 't';  // the end that was called has tried to call back

/// However the other end behaves, this end comes to its own end by then.
Deadline end_of(const TcpPairPlan& plan) {
  return Deadline((kPinging + 2 + 2 * kSlowTime) * plan.time_s + plan.spare_s);
}

Deadline silence(const Deadline& end) { return Deadline(std::min(kSilence_s, end.left_s())); }

[[noreturn]] void gone(const Deadline& end) {
  throw RunError(end.over() ? "the other end did not finish in time" : "the peer timed out or closed the connection");
}

/// Each stream in a thread of its own; the first that throws is reported.
void on_all(Streams& streams, const std::function<void(std::size_t)>& body) {
  std::vector<std::exception_ptr> wrong(streams.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < streams.size(); ++i)
      threads.push_back(start_thread([&, i] {
        try {
          body(i);
        } catch (...) {
          wrong[i] = std::current_exception();
        }
      }));
  }
  for (const std::exception_ptr& one : wrong)
    if (one) std::rethrow_exception(one);
}

/// Leaves no more than this unsent in the kernel, so that the end of a way is soon over.
void keep_little(int fd, std::size_t bytes) {
  const auto most = static_cast<int>(bytes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
}

/// Asks, and waits for each answer.
PairLatency ping(int fd, double time_s, const Deadline& end) {
  char message[kPing] = {kMore};
  std::vector<double> times;
  times.reserve(kMostPings);
  for (const Deadline last(kPinging * time_s); times.empty() || (!last.over() && times.size() < kMostPings);) {
    const std::uint64_t begin_ns = now_ns();
    if (!system::send_all(fd, {message, kPing}, silence(end)) || !system::receive_all(fd, message, silence(end)))
      gone(end);
    times.push_back(seconds_since(begin_ns));
  }
  message[0] = kLast;
  if (!system::send_all(fd, {message, kPing}, silence(end))) gone(end);
  return latency_of(std::move(times));
}

void echo(int fd, const Deadline& end) {
  for (char message[kPing];;) {
    if (end.over() || !system::receive_all(fd, message, silence(end))) gone(end);
    if (message[0] == kLast) return;
    if (!system::send_all(fd, {message, kPing}, silence(end))) gone(end);
  }
}

/// Blocks until the time is over; returns the kernel's count after the first `warm` of it.
system::TcpCounts send(int fd, double time_s, std::size_t block_size, double warm, const Deadline& end) {
  std::vector<char> block(block_size, '\0');
  system::TcpCounts before;
  bool is_warm = false;
  const std::uint64_t begin_ns = now_ns();
  for (bool last = false; !last;) {
    const double passed_s = seconds_since(begin_ns);
    if (!is_warm && passed_s >= warm * time_s) {
      before = system::tcp_counts(fd);
      is_warm = true;
    }
    last = passed_s >= time_s;
    block[0] = last ? kLast : kMore;
    if (!system::send_all(fd, {block.data(), block.size()}, silence(end))) gone(end);
  }
  system::TcpCounts counts = system::tcp_counts(fd);
  counts.segments -= std::min(counts.segments, before.segments);
  counts.retransmitted -= std::min(counts.retransmitted, before.retransmitted);
  counts.acknowledged -= std::min(counts.acknowledged, before.acknowledged);
  return counts;
}

/// Blocks until the last.
void receive(int fd, std::size_t block_size, const Deadline& end) {
  std::vector<char> block(block_size);
  for (bool last = false; !last;)
    for (std::size_t got = 0; got < block.size();) {
      const auto some = system::receive_some(fd, std::span(block).subspan(got));
      if (end.over() || !some || (*some == 0 && !system::wait_readable(fd, silence(end)))) gone(end);
      if (got == 0 && *some > 0) last = block[0] == kLast;
      got += *some;
    }
}

/// Why the other end's door cannot be called; "" = it can. That end waits until this is known.
std::string call_back(const TcpDoor& door, const std::string& interface, int fd) {
  std::string address, why;
  const UniqueFd there = call_door(door, address, TcpHello(door.token, 0, 0), interface, why);
  const Deadline end(kSilence_s);
  if (!system::send_all(fd, {&kTried, 1}, end)) gone(end);
  if (there) return "";
  return why.empty() ? "it has no address that can be called" : why;
}

std::uint64_t arrived(const Streams& streams) {
  std::uint64_t sum = 0;
  for (const UniqueFd& one : streams) sum += system::tcp_counts(one.get()).received;
  return sum;
}

/// At full speed; the rate of each stream [B/s].
std::vector<double> send_fast(Streams& streams, double time_s, const Deadline& end) {
  std::vector<double> rates(streams.size());
  on_all(streams, [&](std::size_t i) {
    keep_little(streams[i].get(), 2 * kBlock);
    const auto counts = send(streams[i].get(), time_s, kBlock, kWarm, end);
    rates[i] = static_cast<double>(counts.acknowledged) / ((1 - kWarm) * time_s);
  });
  return rates;
}

/// Where the other end of a connection is called.
std::optional<system::SocketAddress> other_end(int fd, std::uint16_t port) {
  sockaddr_storage raw{};
  socklen_t length = sizeof raw;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&raw), &length) != 0) return std::nullopt;
  return system::SocketAddress::numeric(system::SocketAddress(&raw, length).host(), port);
}

/// Is data sent again in vain, while a call is answered?
bool only_small_packets_pass(const Streams& streams, const system::SocketAddress& to, const std::string& interface) {
  constexpr double kAnswer_s = 1;
  if (std::none_of(streams.begin(), streams.end(),
                   [](const UniqueFd& one) { return system::tcp_counts(one.get()).timeouts > 0; }))
    return false;
  const int error = system::connected(to, Deadline(kAnswer_s), interface).error;
  return error == 0 || error == ECONNREFUSED;
}

/// Until the other end has all sent data: a loss at the end would be its fault.
void wait_acknowledged(const Streams& streams) {
  const Deadline deadline(kSilence_s);
  for (const UniqueFd& one : streams)
    for (int left = 1; left > 0;) {
      if (::ioctl(one.get(), SIOCOUTQ, &left) != 0 || (left > 0 && deadline.over())) gone(deadline);
      if (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

/// Sends; `port`: where the other end is called.
template <class Send>
auto full_packets(const Streams& streams, const std::string& interface, std::uint16_t port, Send send) {
  const auto to = other_end(streams.front().get(), port);
  try {
    if constexpr (std::is_void_v<decltype(send())>) {
      send();
      wait_acknowledged(streams);
    } else {
      const auto sent = send();
      wait_acknowledged(streams);
      return sent;
    }
  } catch (const NoThread&) {
    throw;
  } catch (const RunError&) {
    if (!to || !only_small_packets_pass(streams, *to, interface)) throw;
    throw RunError(std::string(kFullPacketsLost) +
                   ": compare the MTU of both hosts, and of every switch port between them");
  }
}

/// The rate between the beginning and the end [B/s]. All streams by one clock and the kernel's own count. Threads that
/// take data may be late; arrival is not.
double receive_fast(Streams& streams, double time_s, const Deadline& end) {
  const std::uint64_t nothing = arrived(streams);
  std::exception_ptr wrong;
  std::atomic<bool> done{false};
  std::jthread taking = start_thread([&] {
    try {
      on_all(streams, [&](std::size_t i) { receive(streams[i].get(), kBlock, end); });
    } catch (...) {
      wrong = std::current_exception();
    }
    done = true;
  });
  while (!done && arrived(streams) == nothing) std::this_thread::sleep_for(std::chrono::microseconds(100));
  const std::uint64_t begin_ns = now_ns();
  const auto at = [&](double share) {
    sleep_until(begin_ns + static_cast<std::uint64_t>(share * time_s * 1e9));
    const std::uint64_t bytes = arrived(streams);
    return std::make_pair(bytes, now_ns());
  };
  const auto [from, from_ns] = at(kWarm);
  const auto [to, to_ns] = at(kUntil);
  taking.join();
  if (wrong) std::rethrow_exception(wrong);
  return 1e9 * static_cast<double>(to - from) / static_cast<double>(to_ns - from_ns);
}

/// At a third of the speed, so that no queue on the way overflows by it.
void send_slowly(Streams& streams, double time_s, const std::vector<double>& reached, const Deadline& end,
                 TcpPairEnd& own) {
  std::vector<system::TcpCounts> counts(streams.size());
  on_all(streams, [&](std::size_t i) {
    const int fd = streams[i].get();
    const auto pace = static_cast<std::uint64_t>(std::max(reached[i] / 3, kLeastPace));
    ::setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &pace, sizeof pace);
    keep_little(fd, kSmallBlock);
    counts[i] = send(fd, kSlowTime * time_s, kSmallBlock, 0, end);
  });
  for (const system::TcpCounts& one : counts) {
    own.segments += one.segments;
    own.retransmitted += one.retransmitted;
  }
}

void receive_slowly(Streams& streams, const Deadline& end) {
  on_all(streams, [&](std::size_t i) { receive(streams[i].get(), kSmallBlock, end); });
}

}  // namespace

TcpPairListener::TcpPairListener(const TcpPairPlan& plan) : plan_(plan) {
  listener_ = open_door(door_, plan.interface, !plan.interface.empty());
  // Another host would meet itself there.
  const auto loopback = [](const std::string& address) { return address.starts_with("127.") || address == "::1"; };
  if (!std::all_of(door_.addresses.begin(), door_.addresses.end(), loopback)) std::erase_if(door_.addresses, loopback);
}

void TcpPairListener::await_call_back(int fd) const {
  const std::jthread welcoming = start_thread([this](const std::stop_token& stop) {
    TcpCallers callers(listener_.get(), door_.token);
    while (!stop.stop_requested())
      if (const TcpCaller caller = callers.next(Deadline(kLookAgain_s))) welcome(caller.socket.get());
  });
  char tried = 0;
  const Deadline end(kCallBack_s);
  if (!system::receive_all(fd, {&tried, 1}, end) || tried != kTried) gone(end);
}

TcpPairEnd TcpPairListener::answer(const TcpDoor* back) {
  Streams streams(plan_.streams);
  // The caller may have tried other addresses before.
  const Deadline deadline(plan_.meet_s + kTryAddresses_s);
  TcpCallers callers(listener_.get(), door_.token);
  for (unsigned there = 0; there < plan_.streams;) {
    TcpCaller caller = callers.next(deadline);
    if (!caller) throw RunError("the other end did not come");
    if (caller.hello.stream >= streams.size()) continue;
    UniqueFd& stream = streams[caller.hello.stream];
    system::send_at_once(caller.socket.get());
    if (!welcome(caller.socket.get())) continue;
    there += !stream;
    stream = std::move(caller.socket);
  }
  TcpPairEnd own;
  if (back) own.back = call_back(*back, plan_.interface, streams.front().get());
  const Deadline end = end_of(plan_);
  echo(streams.front().get(), end);
  own.received = receive_fast(streams, plan_.time_s, end);
  const std::uint16_t port = back ? back->port : 0;
  const auto reached =
      full_packets(streams, plan_.interface, port, [&] { return send_fast(streams, plan_.time_s, end); });
  receive_slowly(streams, end);
  full_packets(streams, plan_.interface, port, [&] { send_slowly(streams, plan_.time_s, reached, end, own); });
  return own;
}

TcpPairEnd call_pair(const TcpDoor& door, const TcpPairPlan& plan, const TcpPairListener* own) {
  Streams streams(plan.streams);
  std::string address;
  TcpHello hello(door.token, 0, 0);
  for (UniqueFd& stream : streams) {
    std::string why;
    stream = call_door(door, address, hello, plan.interface, why);
    if (!stream) throw NotConnected(why.empty() ? "the other end has no address" : why);
    system::send_at_once(stream.get());
    ++hello.stream;
  }
  TcpPairEnd result;
  if (own) own->await_call_back(streams.front().get());
  const Deadline end = end_of(plan);
  result.latency = ping(streams.front().get(), plan.time_s, end);
  const auto reached =
      full_packets(streams, plan.interface, door.port, [&] { return send_fast(streams, plan.time_s, end); });
  result.received = receive_fast(streams, plan.time_s, end);
  full_packets(streams, plan.interface, door.port, [&] { send_slowly(streams, plan.time_s, reached, end, result); });
  receive_slowly(streams, end);
  return result;
}

}  // namespace headrace
