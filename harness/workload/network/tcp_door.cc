#include "harness/workload/network/tcp_door.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/base/system/own_addresses.h"
#include "harness/base/system/socket.h"
#include "harness/base/system/token.h"
#include "harness/record/ranks/wire.h"

namespace headrace {
namespace {

using system::UniqueFd;

constexpr double kHello_s = 2;  // for the first bytes of a caller
constexpr double kWelcome_s = 0.2;
constexpr double kLook_s = 0.1;
constexpr std::size_t kMostStrangers = 256;
constexpr double kAlone_s = 0.25;  // an address is tried alone for this time: mostly the others are not needed

/// Sends the greeting, and waits for the welcome. Returns the errno, or 0.
int greeted(int fd, const TcpHello& hello) {
  const Deadline deadline(kTryAddresses_s);
  char answer = 0;
  const bool welcomed = system::send_all(fd, {reinterpret_cast<const char*>(&hello), sizeof hello}, deadline) &&
                        system::receive_all(fd, {&answer, 1}, deadline) && answer == 'y';
  return welcomed ? 0 : ECONNREFUSED;
}

void add_reason(const system::SocketAddress& to, int error, std::string& why) {
  why += fmt::format("{}{} port {}: {}", why.empty() ? "" : "; ", to.host(), to.port(), errno_text(error));
}

/// Tries all addresses at once. Returns the index of the first one reached, or their number for none. Connections are
/// closed again. The listener gives up a silent caller, and this one may have waited for those before it.
std::size_t first_reached(std::span<const system::SocketAddress> addresses, const std::string& interface,
                          std::string& why) {
  std::vector<system::Connected> calls;
  for (const system::SocketAddress& to : addresses) calls.push_back(system::connecting(to, interface));
  const Deadline deadline(kTryAddresses_s);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const int error = system::settled(std::move(calls[i]), deadline).error;
    if (error == 0) return i;
    add_reason(addresses[i], error, why);
  }
  return addresses.size();
}

}  // namespace

std::string TcpDoor::packed() const { return wire::Writer().put(addresses).put(port).put(token).bytes(); }

TcpDoor TcpDoor::unpacked(const std::string& bytes) {
  TcpDoor door;
  wire::Reader in(bytes);
  in.get(door.addresses);
  in.get(door.port);
  in.get(door.token);
  if (door.addresses.size() > kMostAddresses)
    throw RunError(fmt::format("it has {} addresses, and {} are allowed", door.addresses.size(), kMostAddresses));
  return door;
}

UniqueFd open_door(TcpDoor& door, const std::string& interface, bool bind) {
  std::vector<std::string> addresses = system::own_addresses(interface);
  if (addresses.empty())
    throw RunError(interface.empty() ? "no network interface is up"
                                     : "interface " + interface + " is not there, or has no address");
  addresses.resize(std::min(addresses.size(), kMostAddresses));
  UniqueFd listener = system::listening(bind ? interface : "");
  door = {std::move(addresses), system::SocketAddress::of_socket(listener.get()).port(), system::new_token()};
  return listener;
}

TcpHello::TcpHello(std::string_view of_door, std::uint32_t who, std::uint32_t number) : from(who), stream(number) {
  std::copy_n(of_door.begin(), std::min(of_door.size(), token.size()), token.begin());
}

UniqueFd call_door(const TcpDoor& door, std::string& address, const TcpHello& hello, const std::string& interface,
                   std::string& why) {
  std::vector<system::SocketAddress> addresses;
  for (const std::string& text : address.empty() ? door.addresses : std::vector<std::string>{address})
    if (const auto to = system::SocketAddress::numeric(text, door.port)) addresses.push_back(*to);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    system::Connected there = system::connected(addresses[i], Deadline(kAlone_s), interface);
    if (there.error == ETIMEDOUT) {
      i += first_reached(std::span(addresses).subspan(i), interface, why);
      if (i == addresses.size()) break;
      there = system::connected(addresses[i], Deadline(kTryAddresses_s), interface);
    }
    if (there.error == 0) there.error = greeted(there.socket.get(), hello);
    if (there.error == 0) {
      address = addresses[i].host();
      return std::move(there.socket);
    }
    add_reason(addresses[i], there.error, why);
  }
  return {};
}

/// All callers that have connected. Where there is no room for one more, the one silent for longest is dropped.
void TcpCallers::take_in() {
  for (;;) {
    system::Accepted one = system::accepted(listener_);
    const bool is_full = one.no_room || strangers_.size() >= kMostStrangers;
    if (is_full && !strangers_.empty()) strangers_.pop_front();
    if (one)
      strangers_.push_back({{std::move(one.socket), {}}, 0, Deadline(kHello_s)});
    else if (!is_full || strangers_.empty())
      return;
  }
}

/// Its hello is there as a whole. One that ended, or took too long, has no socket any more.
bool TcpCallers::spoke(Stranger& stranger) const {
  TcpCaller& caller = stranger.caller;
  const std::span hello(reinterpret_cast<char*>(&caller.hello), sizeof caller.hello);
  const auto got = system::receive_some(caller.socket.get(), hello.subspan(stranger.got));
  if (got) stranger.got += *got;
  const bool whole = stranger.got == hello.size();
  const bool knows = whole && system::same_token({caller.hello.token.begin(), caller.hello.token.end()}, token_);
  if (!got || (whole && !knows) || (!whole && stranger.until.over())) caller.socket = UniqueFd();
  return knows;
}

TcpCaller TcpCallers::next(const Deadline& deadline) {
  for (;;) {
    take_in();
    for (std::size_t i = 0; i < strangers_.size();) {
      const bool called = spoke(strangers_[i]);
      if (!called && strangers_[i].caller) {
        ++i;
        continue;
      }
      TcpCaller caller = std::move(strangers_[i].caller);
      strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
      if (called) return caller;
    }
    if (deadline.over()) return {};
    std::vector<int> waits{listener_};
    for (const Stranger& one : strangers_) waits.push_back(one.caller.socket.get());
    system::readable(waits, std::min(kLook_s, deadline.left_s()));
  }
}

bool welcome(int fd) { return system::send_all(fd, "y", Deadline(kWelcome_s)); }

}  // namespace headrace
