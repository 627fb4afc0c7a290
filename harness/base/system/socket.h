// TCP sockets with deadlines: addresses, listening, connecting, waiting, and bytes that arrive whole or not at all. All
// connections between headrace's processes use this; measured transfers use backends.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/deadline.h"
#include "harness/base/system/unique_fd.h"

namespace headrace::system {

/// An IPv4 or IPv6 address and a TCP port.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const void* raw, socklen_t length);
  /// "10.0.0.2", "fd00::2"; nothing where it is no numeric address.
  static std::optional<SocketAddress> numeric(const std::string& address, std::uint16_t port);
  /// All addresses of a host's name, or the one numeric address; at least one. Throws RunError: "WHAT HOST: why".
  static std::vector<SocketAddress> of_host(const std::string& what, const std::string& host, std::uint16_t port);
  /// The own end of a socket.
  static SocketAddress of_socket(int fd);

  /// "10.0.0.2", "fd00::2"; "" where there is none.
  std::string host() const;
  std::uint16_t port() const;
  /// "10.0.0.2:18620", "[fd00::2]:18620".
  std::string text() const;

  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// Listens on all addresses, IPv6 and IPv4 where there is IPv6, at a port that the kernel chooses. With `interface`:
/// nothing comes but by it. Throws RunError.
UniqueFd listening(const std::string& interface = "");
/// Listens at this address alone. None, and `error` the errno, where it cannot.
UniqueFd listening_at(const SocketAddress& at, int& error);

struct Accepted {
  UniqueFd socket;  // non-blocking; none when no client waits
  SocketAddress from;
  bool no_room = false;  // clients may wait, but this process or machine has no open file left
  explicit operator bool() const { return static_cast<bool>(socket); }
};
/// The next connection to a listener.
Accepted accepted(int listener);

struct Connected {
  UniqueFd socket;  // non-blocking; none when it failed
  int error = 0;    // errno: ETIMEDOUT without an answer in time; EINPROGRESS: it is on its way
};
/// Begins, and does not wait. With `interface`: by that one, regardless of routes.
Connected connecting(const SocketAddress& to, const std::string& interface = "");
/// Its result.
Connected settled(Connected begun, const Deadline& deadline);
/// Both.
Connected connected(const SocketAddress& to, const Deadline& deadline, const std::string& interface = "");

/// Calls on the socket return at once, or wait.
void set_blocking(int fd, bool blocking);
/// Small messages go at once (TCP_NODELAY).
void send_at_once(int fd);
/// The kernel gives the other end up when it acknowledges nothing for this time, also where nothing is sent [ms].
void give_up_after(int fd, int silent_ms);

/// Waits until something is there to read, also the end; false at the deadline. Continues after signals.
bool wait_readable(int fd, const Deadline& deadline);
/// The same until bytes can be written.
bool wait_writable(int fd, const Deadline& deadline);
/// Which of `fds` have something to read, an end, or an error. Waits for the first, at most `timeout_s`; a signal ends
/// it early.
std::vector<bool> readable(std::span<const int> fds, double timeout_s);

/// Takes the available bytes without waiting. It returns their number, 0 when there are none now, nothing when the
/// connection ended or broke.
std::optional<std::size_t> receive_some(int fd, std::span<char> to);
/// Fills all of `to`. False: the connection ended or broke before, or the deadline is over.
bool receive_all(int fd, std::span<char> to, const Deadline& deadline);
/// Hands all of `bytes` to the kernel; bytes that it takes at once are sent even after the deadline. False: the
/// connection broke, or does not take them in time.
bool send_all(int fd, std::string_view bytes, const Deadline& deadline);

}  // namespace headrace::system
