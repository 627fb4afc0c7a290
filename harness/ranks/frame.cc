#include "harness/ranks/frame.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "harness/base/clock.h"

namespace headrace::ranks {
namespace {

struct Header {
  Kind kind;
  std::uint32_t mark;
  std::uint64_t length;
};
constexpr std::uint32_t kMark = 0x68647263;

}  // namespace

Connection::Connection(system::UniqueFd socket, std::uint64_t longest) : socket_(std::move(socket)), longest_(longest) {
  const int on = 1;
  ::setsockopt(fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd(), F_SETFL, ::fcntl(fd(), F_GETFL) | O_NONBLOCK);
}

bool Connection::read_some() {
  char buffer[65536];
  for (;;) {
    const ssize_t got = ::recv(fd(), buffer, sizeof buffer, 0);
    if (got > 0) {
      input_.append(buffer, static_cast<std::size_t>(got));
      if (input_.size() - used_ > longest_ + sizeof(Header)) return true;  // next() has something to do
      if (got == sizeof buffer) continue;
      return true;
    }
    if (got == 0) return false;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK;
  }
}

std::optional<Frame> Connection::next() {
  Header header;
  if (input_.size() - used_ < sizeof header) return std::nullopt;
  std::memcpy(&header, input_.data() + used_, sizeof header);
  if (header.mark != kMark || header.length > longest_) {  // not one of ours
    close();
    return std::nullopt;
  }
  if (input_.size() - used_ - sizeof header < header.length) return std::nullopt;
  Frame frame{header.kind, input_.substr(used_ + sizeof header, header.length)};
  used_ += sizeof header + header.length;
  constexpr std::size_t kWorthMoving = 1 << 16;
  if (used_ == input_.size() || (used_ > kWorthMoving && used_ > input_.size() / 2)) {
    input_.erase(0, used_);
    used_ = 0;
  }
  return frame;
}

bool Connection::write(Kind kind, std::string_view bytes, double timeout_s) {
  const Header header{kind, kMark, bytes.size()};
  std::string all(reinterpret_cast<const char*>(&header), sizeof header);
  all.append(bytes);
  const std::uint64_t end_ns = now_ns() + static_cast<std::uint64_t>(timeout_s * 1e9);
  for (std::size_t sent = 0; sent < all.size();) {
    const ssize_t done = ::send(fd(), all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
    if (done > 0) {
      sent += static_cast<std::size_t>(done);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (now_ns() > end_ns) return false;
    pollfd ready{fd(), POLLOUT, 0};
    ::poll(&ready, 1, 100);
  }
  return true;
}

}  // namespace headrace::ranks
