#include "harness/workload/ranks/frame.h"

#include <cstring>

#include "harness/base/system/socket.h"

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
  system::send_at_once(fd());
  system::set_blocking(fd(), false);
}

bool Connection::read_some() {
  char buffer[65536];
  for (;;) {
    const std::optional<std::size_t> got = system::receive_some(fd(), buffer);
    if (!got) return false;
    input_.append(buffer, *got);
    // More than one frame may have: next() has something to do.
    if (*got < sizeof buffer || input_.size() - used_ > longest_ + sizeof(Header)) return true;
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
  return system::send_all(fd(), all, Deadline(timeout_s));
}

}  // namespace headrace::ranks
