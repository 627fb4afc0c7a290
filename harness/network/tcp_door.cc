#include "harness/network/tcp_door.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "harness/base/deadline.h"
#include "harness/base/error.h"
#include "harness/ranks/wire.h"
#include "harness/system/own_addresses.h"
#include "harness/system/socket.h"
#include "harness/system/token.h"

namespace headrace {
namespace {

using system::UniqueFd;

constexpr double kHello_s = 0.2;  // for the first bytes of a caller

/// Says who calls, and hears that it is welcome. The errno, or 0.
int greeted(int fd, const TcpHello& hello) {
  const Deadline deadline(kTryAddress_s);
  char answer = 0;
  const bool welcomed = system::send_all(fd, {reinterpret_cast<const char*>(&hello), sizeof hello}, deadline) &&
                        system::receive_all(fd, {&answer, 1}, deadline) && answer == 'y';
  return welcomed ? 0 : ECONNREFUSED;
}

}  // namespace

std::string TcpDoor::packed() const { return wire::Writer().put(addresses).put(port).put(token).bytes(); }

TcpDoor TcpDoor::unpacked(const std::string& bytes) {
  TcpDoor door;
  wire::Reader in(bytes);
  in.get(door.addresses);
  in.get(door.port);
  in.get(door.token);
  return door;
}

UniqueFd open_door(TcpDoor& door, const std::string& interface, bool bind) {
  std::vector<std::string> addresses = system::own_addresses(interface);
  if (addresses.empty())
    throw RunError(interface.empty() ? "no network interface is up"
                                     : "interface " + interface + " is not there, or has no address");
  UniqueFd listener = system::listening(bind ? interface : "");
  door = {std::move(addresses), system::SocketAddress::of_socket(listener.get()).port(), system::new_token()};
  return listener;
}

TcpHello::TcpHello(std::string_view of_door, std::uint32_t who, std::uint32_t number) : from(who), stream(number) {
  std::copy_n(of_door.begin(), std::min(of_door.size(), token.size()), token.begin());
}

UniqueFd call_door(const TcpDoor& door, std::string& address, const TcpHello& hello, const std::string& interface,
                   std::string& why) {
  const std::vector<std::string> addresses = address.empty() ? door.addresses : std::vector<std::string>{address};
  for (const std::string& text : addresses) {
    const auto to = system::SocketAddress::numeric(text, door.port);
    if (!to) continue;
    system::Connected there = system::connected(*to, Deadline(kTryAddress_s), interface);
    if (there.error == 0) there.error = greeted(there.socket.get(), hello);
    if (there.error == 0) {
      address = text;
      return std::move(there.socket);
    }
    why += fmt::format("{}{} port {}: {}", why.empty() ? "" : "; ", text, door.port, errno_text(there.error));
  }
  return {};
}

TcpCaller caller_at(int listener, const std::string& token) {
  TcpCaller caller{system::accepted(listener).socket, {}};
  if (!caller.socket) return {};
  char* const bytes = reinterpret_cast<char*>(&caller.hello);
  if (!system::receive_all(caller.socket.get(), {bytes, sizeof caller.hello}, Deadline(kHello_s)) ||
      !system::same_token({caller.hello.token.begin(), caller.hello.token.end()}, token))
    return {};
  return caller;
}

bool welcome(int fd) { return system::send_all(fd, "y", Deadline(kHello_s)); }

}  // namespace headrace
