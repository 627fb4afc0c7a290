#include "harness/base/system/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>

#include "harness/base/error.h"

namespace headrace::system {
namespace {

/// Never less than requested: a wait of 0.4 ms must not become 0 ms, which would not wait at all.
int poll_ms(double s) { return static_cast<int>(std::ceil(std::clamp(s, 0.0, 1e6) * 1000)); }

bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd ready{fd, events, 0};
  for (;;) {
    const int some = ::poll(&ready, 1, poll_ms(deadline.left_s()));
    if (some != 0 && !(some < 0 && errno == EINTR)) return some > 0;
    if (deadline.over()) return false;
  }
}

void set(int fd, int level, int name, int value) { ::setsockopt(fd, level, name, &value, sizeof value); }

UniqueFd stream_socket(int family) { return UniqueFd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// False, and errno, where the kernel does not let us.
bool bound_to(const std::string& interface, int fd) {
  return interface.empty() ||
         ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, interface.data(), static_cast<socklen_t>(interface.size())) == 0;
}

/// On any address of a family, at a free port.
UniqueFd bound(int family, const std::string& interface) {
  UniqueFd socket = stream_socket(family);
  if (!socket) return {};
  if (!bound_to(interface, socket.get())) throw system_error("bind a socket to", interface, errno);
  if (family == AF_INET6) set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  sockaddr_storage any{};
  any.ss_family = static_cast<sa_family_t>(family);
  const socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), length) == 0 ? std::move(socket) : UniqueFd();
}

}  // namespace

SocketAddress::SocketAddress(const void* raw, socklen_t length)
    : length_(std::min<socklen_t>(length, sizeof storage_)) {
  std::memcpy(&storage_, raw, length_);
}

std::optional<SocketAddress> SocketAddress::numeric(const std::string& address, std::uint16_t port) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  six.sin6_family = AF_INET6;
  four.sin_family = AF_INET;
  six.sin6_port = four.sin_port = htons(port);
  if (::inet_pton(AF_INET6, address.c_str(), &six.sin6_addr) == 1) return SocketAddress(&six, sizeof six);
  if (::inet_pton(AF_INET, address.c_str(), &four.sin_addr) == 1) return SocketAddress(&four, sizeof four);
  return std::nullopt;
}

std::vector<SocketAddress> SocketAddress::of_host(const std::string& what, const std::string& host,
                                                  std::uint16_t port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found))
    throw RunError(fmt::format("{} {}: {}", what, host, ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* i = found; i != nullptr; i = i->ai_next) addresses.emplace_back(i->ai_addr, i->ai_addrlen);
  return addresses;
}

SocketAddress SocketAddress::of_socket(int fd) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length);
  return {&own, length};
}

std::string SocketAddress::host() const {
  char text[NI_MAXHOST] = "";
  ::getnameinfo(raw(), length_, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return text;
}

std::uint16_t SocketAddress::port() const {
  return ntohs(storage_.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(storage_).sin6_port
                                              : reinterpret_cast<const sockaddr_in&>(storage_).sin_port);
}

std::string SocketAddress::text() const {
  return storage_.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host(), port()) : fmt::format("{}:{}", host(), port());
}

UniqueFd listening(const std::string& interface) {
  UniqueFd socket = bound(AF_INET6, interface);
  if (!socket) socket = bound(AF_INET, interface);
  if (!socket) throw system_error("bind", "a TCP socket", errno);
  if (::listen(socket.get(), SOMAXCONN) != 0) throw system_error("listen", "a TCP socket", errno);
  return socket;
}

UniqueFd listening_at(const SocketAddress& at, int& error) {
  UniqueFd socket = stream_socket(at.raw()->sa_family);
  if (socket) set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  const bool listens =
      socket && ::bind(socket.get(), at.raw(), at.length()) == 0 && ::listen(socket.get(), SOMAXCONN) == 0;
  error = listens ? 0 : errno;
  return listens ? std::move(socket) : UniqueFd();
}

Accepted accepted(int listener) {
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  UniqueFd socket(::accept4(listener, reinterpret_cast<sockaddr*>(&from), &length, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) return {{}, {}, errno == EMFILE || errno == ENFILE};
  return {std::move(socket), {&from, length}};
}

Connected connecting(const SocketAddress& to, const std::string& interface) {
  Connected c{stream_socket(to.raw()->sa_family)};
  const bool at_once =
      c.socket && bound_to(interface, c.socket.get()) && ::connect(c.socket.get(), to.raw(), to.length()) == 0;
  c.error = at_once ? 0 : errno;
  if (c.error != 0 && c.error != EINPROGRESS) c.socket = UniqueFd();
  return c;
}

Connected settled(Connected c, const Deadline& deadline) {
  if (c.error == EINPROGRESS) {
    socklen_t size = sizeof c.error;
    c.error = ETIMEDOUT;
    if (wait_writable(c.socket.get(), deadline)) ::getsockopt(c.socket.get(), SOL_SOCKET, SO_ERROR, &c.error, &size);
  }
  if (c.error != 0) c.socket = UniqueFd();
  return c;
}

Connected connected(const SocketAddress& to, const Deadline& deadline, const std::string& interface) {
  return settled(connecting(to, interface), deadline);
}

void set_blocking(int fd, bool blocking) {
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

void send_at_once(int fd) { set(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

void give_up_after(int fd, int silent_ms) {
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, silent_ms);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, silent_ms / 2000);
}

bool wait_readable(int fd, const Deadline& deadline) { return wait_for(fd, POLLIN, deadline); }
bool wait_writable(int fd, const Deadline& deadline) { return wait_for(fd, POLLOUT, deadline); }

std::vector<bool> readable(std::span<const int> fds, double timeout_s) {
  std::vector<pollfd> waits;
  for (const int fd : fds) waits.push_back({fd, POLLIN, 0});
  std::vector<bool> ready(fds.size());
  if (::poll(waits.data(), waits.size(), poll_ms(timeout_s)) <= 0) return ready;
  std::transform(waits.begin(), waits.end(), ready.begin(), [](const pollfd& p) { return p.revents != 0; });
  return ready;
}

std::optional<std::size_t> receive_some(int fd, std::span<char> to) {
  for (;;) {
    const ssize_t got = ::recv(fd, to.data(), to.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
    return std::nullopt;
  }
}

bool receive_all(int fd, std::span<char> to, const Deadline& deadline) {
  while (!to.empty()) {
    const std::optional<std::size_t> got = receive_some(fd, to);
    if (!got) return false;
    to = to.subspan(*got);
    if (*got == 0 && !wait_readable(fd, deadline)) return false;
  }
  return true;
}

bool send_all(int fd, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
      if (!wait_writable(fd, deadline)) return false;
    }
  }
  return true;
}

}  // namespace headrace::system
