#include "harness/network/tcp_mesh.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "harness/base/clock.h"
#include "harness/ranks/wire.h"
#include "harness/system/network_links.h"
#include "harness/system/own_addresses.h"
#include "harness/system/unique_fd.h"

namespace headrace {
namespace {

using system::UniqueFd;

constexpr timeval kCall{0, 200'000};
constexpr double kTry_s = 2;  // for one address, before the next is tried

/// The first bytes of a connection: who calls, and that it is one of ours.
struct Hello {
  std::array<char, 16> token;
  std::uint32_t from, stream;
};

struct Door {
  UniqueFd listener;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
  std::string token;

  std::string packed() const { return wire::Writer().put(addresses).put(port).put(token).bytes(); }
};

double seconds_since(std::uint64_t ns) { return static_cast<double>(now_ns() - ns) * 1e-9; }

bool wait_for(int fd, short events, double timeout_s) {
  pollfd ready{fd, events, 0};
  return ::poll(&ready, 1, std::max(0, static_cast<int>(timeout_s * 1000))) > 0;
}

sockaddr_storage address_of(const std::string& text, std::uint16_t port, socklen_t& length) {
  sockaddr_storage all{};
  auto& six = reinterpret_cast<sockaddr_in6&>(all);
  auto& four = reinterpret_cast<sockaddr_in&>(all);
  if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    length = sizeof six;
  } else {
    all = {};
    ::inet_pton(AF_INET, text.c_str(), &four.sin_addr);
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    length = sizeof four;
  }
  return all;
}

/// False, and errno, where the kernel does not let us.
bool bind_to_interface(int fd, const TcpMesh::Options& options) {
  return !options.bind || ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, options.interface.data(),
                                       static_cast<socklen_t>(options.interface.size())) == 0;
}

Door open_door(const TcpMesh::Options& options) {
  Door door;
  door.addresses = system::own_addresses(options.interface);
  if (door.addresses.empty())
    throw RunError(options.interface.empty() ? "no network interface is up"
                                             : "interface " + options.interface + " is not there, or has no address");
  const bool six = std::any_of(door.addresses.begin(), door.addresses.end(),
                               [](const std::string& a) { return a.find(':') != a.npos; });
  door.listener = UniqueFd(::socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (door.listener && !bind_to_interface(door.listener.get(), options))
    throw system_error("bind a socket to", options.interface, errno);
  socklen_t length = 0;
  sockaddr_storage any = address_of(six ? "::" : "0.0.0.0", 0, length);
  const int off = 0;
  if (six) ::setsockopt(door.listener.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (!door.listener || ::bind(door.listener.get(), reinterpret_cast<sockaddr*>(&any), length) != 0 ||
      ::listen(door.listener.get(), SOMAXCONN) != 0)
    throw system_error("listen", "a TCP socket", errno);
  ::getsockname(door.listener.get(), reinterpret_cast<sockaddr*>(&any), &length);
  door.port =
      ntohs(six ? reinterpret_cast<sockaddr_in6&>(any).sin6_port : reinterpret_cast<sockaddr_in&>(any).sin_port);
  door.token.resize(16);
  if (::getrandom(door.token.data(), 16, 0) != 16) throw system_error("getrandom", "a token", errno);
  return door;
}

void settle(int fd, const TcpMesh::Options& options) {
  const int on = 1, size = static_cast<int>(options.buffer);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (size > 0) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  }
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kCall, sizeof kCall);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kCall, sizeof kCall);
}

/// One connection to a door, or why not.
std::optional<UniqueFd> call(const Door& door, std::string& address, const Hello& hello,
                             const TcpMesh::Options& options, std::string& why) {
  const std::vector<std::string> addresses = address.empty() ? door.addresses : std::vector<std::string>{address};
  for (const std::string& to : addresses) {
    socklen_t length = 0;
    const sockaddr_storage there = address_of(to, door.port, length);
    UniqueFd fd(::socket(there.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    int code = fd && bind_to_interface(fd.get(), options) &&
                       ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&there), length) == 0
                   ? 0
                   : errno;
    if (code == EINPROGRESS) {
      socklen_t size = sizeof code;
      code = ETIMEDOUT;
      if (wait_for(fd.get(), POLLOUT, kTry_s)) ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &code, &size);
    }
    char answer = 0;
    if (code == 0) {
      ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) & ~O_NONBLOCK);
      settle(fd.get(), options);
      ::send(fd.get(), &hello, sizeof hello, MSG_NOSIGNAL);
      const bool heard = wait_for(fd.get(), POLLIN, kTry_s) && ::recv(fd.get(), &answer, 1, 0) == 1;
      if (!heard || answer != 'y') code = ECONNREFUSED;
    }
    if (code == 0) {
      address = to;
      return fd;
    }
    why += fmt::format("{}{} port {}: {}", why.empty() ? "" : "; ", to, door.port, errno_text(code));
  }
  return std::nullopt;
}

/// The next caller with the right words; nothing when none came in `timeout_s`.
std::optional<std::pair<Hello, UniqueFd>> answer(const Door& door, const TcpMesh::Options& options, double timeout_s) {
  if (!wait_for(door.listener.get(), POLLIN, timeout_s)) return std::nullopt;
  UniqueFd fd(::accept4(door.listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) return std::nullopt;
  Hello hello{};
  settle(fd.get(), options);
  if (::recv(fd.get(), &hello, sizeof hello, MSG_WAITALL) != sizeof hello ||
      std::memcmp(hello.token.data(), door.token.data(), hello.token.size()) != 0)
    return std::nullopt;
  ::send(fd.get(), "y", 1, MSG_NOSIGNAL);
  return std::pair(hello, std::move(fd));
}

/// "eth10" as text in which numbers sort as numbers.
std::string sortable(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size();) {
    std::size_t end = i;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    if (end == i) {
      text += name[i++];
    } else {
      text += fmt::format("{:0>20}", name.substr(i, end - i));
      i = end;
    }
  }
  return text;
}

}  // namespace

std::vector<std::string> rail_interfaces(const std::string& wanted) {
  std::vector<std::string> names, with_device;
  for (std::size_t i = 0; i < wanted.size();) {
    const std::size_t end = std::min(wanted.find_first_of(", ", i), wanted.size());
    if (end > i) names.push_back(wanted.substr(i, end - i));
    i = end + 1;
  }
  if (!names.empty()) return names;
  for (const system::NetworkLink& link : system::network_links()) {
    if (link.rdma || link.state == "down" || system::own_addresses(link.name).empty()) continue;
    names.push_back(link.name);
    if (link.physical) with_device.push_back(link.name);
  }
  if (!with_device.empty()) names = with_device;
  std::sort(names.begin(), names.end(),
            [](const std::string& a, const std::string& b) { return sortable(a) < sortable(b); });
  return names;
}

TcpMesh::TcpMesh(Ranks& ranks, const std::vector<unsigned>& team,
                 const std::vector<std::pair<unsigned, unsigned>>& pairs, const Options& options) {
  const auto self = static_cast<unsigned>(std::find(team.begin(), team.end(), ranks.rank()) - team.begin());
  Door own;
  std::string trouble;
  try {
    own = open_door(options);
  } catch (const RunError& e) {
    trouble = e.what();
  }
  const auto doors = ranks.gather("TCP addresses", team, own.packed(), options.timeout_s);
  std::vector<unsigned> to_call;
  std::size_t expected = 0;
  for (const auto& [a, b] : pairs) {
    if (a == self) to_call.push_back(b);
    if (b == self) expected += options.streams;
    if (a == self || b == self) sockets_[a == self ? b : a].assign(options.streams, -1);
  }
  const std::uint64_t begin = now_ns();
  // On a thread of its own: whoever calls another must be answered meanwhile.
  std::atomic<bool> give_up{!trouble.empty()};
  std::size_t answered = 0;
  std::thread answering([&] {
    while (answered < expected && !give_up && seconds_since(begin) < options.timeout_s + kTry_s) {
      auto caller = answer(own, options, 0.1);
      if (!caller) continue;
      const auto at = sockets_.find(caller->first.from);
      if (at == sockets_.end() || caller->first.stream >= options.streams) continue;
      at->second[caller->first.stream] = caller->second.release();
      ++answered;
    }
  });
  for (const unsigned partner : to_call) {
    Door door;
    wire::Reader in(doors.at(partner));
    in.get(door.addresses);
    in.get(door.port);
    in.get(door.token);
    if (door.port == 0) continue;  // it tells itself why
    Hello hello{{}, self, 0};
    std::memcpy(hello.token.data(), door.token.data(), hello.token.size());
    for (unsigned s = 0; s < options.streams && trouble.empty(); ++s) {
      hello.stream = s;
      std::string why;
      std::optional<UniqueFd> fd;
      do {
        why.clear();
        fd = call(door, addresses_[partner], hello, options, why);
        if (!fd) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      } while (!fd && seconds_since(begin) < options.timeout_s);
      if (fd)
        sockets_[partner][s] = fd->release();
      else
        trouble = fmt::format("cannot connect to {} within {:g} s: {}; is there a firewall between them?",
                              ranks.who(team[partner]), options.timeout_s, why);
    }
  }
  if (!trouble.empty()) give_up = true;
  answering.join();
  if (trouble.empty() && answered < expected) {
    for (const auto& [a, b] : pairs)
      if (b == self && std::count(sockets_[a].begin(), sockets_[a].end(), -1) > 0)
        trouble += (trouble.empty() ? "no connection from " : ", ") + ranks.who(team[a]);
    trouble += fmt::format(" within {:g} s; is there a firewall between them?", options.timeout_s);
  }
  const auto troubles = ranks.gather("TCP connections", team, trouble, 3 * options.timeout_s + 10);
  for (std::size_t i = 0; i < troubles.size(); ++i) {
    if (troubles[i].empty()) continue;
    const std::string why = ranks.who(team[i]) + " " + troubles[i];
    for (auto& [partner, sockets] : sockets_)
      for (const int fd : sockets)
        if (fd >= 0) ::close(fd);
    sockets_.clear();
    throw RunError(why);
  }
}

TcpMesh::~TcpMesh() {
  for (auto& [partner, sockets] : sockets_)
    for (const int fd : sockets)
      if (fd >= 0) ::close(fd);
}

}  // namespace headrace
