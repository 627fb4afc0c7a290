#include "harness/observe/nccl/nccl_ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <string_view>

#include "harness/base/deadline.h"
#include "harness/base/error.h"

namespace headrace::observe {
namespace {

constexpr int kProtocol = 2;  // of NCCL 2.24 to 2.30
constexpr std::size_t kLongestLine = 256;
constexpr std::size_t kLongestAnswer = 32 << 20;  // [B]; 600 B for each rank of each communicator
constexpr double kGlance = 0.1;                   // [s]: so often is looked whether anybody needs the answer

enum class End { full, closed, late };

/// A connection that is read by lines, then to its end.
class Conversation {
 public:
  Conversation(int fd, const Deadline& deadline, const std::function<bool()>& over)
      : fd_(fd), deadline_(deadline), over_(over) {}

  bool say(std::string_view line) { return system::send_all(fd_, line, deadline_); }
  /// The next line without its end; `text` has what came of it.
  End line(std::string& text) {
    const End end = until([this] { return came_.find('\n') != came_.npos; }, kLongestLine);
    const std::size_t at = came_.find('\n');
    text = came_.substr(0, at);
    came_.erase(0, at == came_.npos ? at : at + 1);
    if (!text.empty() && text.back() == '\r') text.pop_back();
    return at != std::string::npos ? End::full : end;
  }
  /// All until its end.
  End rest(std::string& text) {
    const End end = until([] { return false; }, kLongestAnswer);
    text = std::move(came_);
    return end;
  }

 private:
  template <class Enough>
  End until(const Enough& enough, std::size_t most) {
    std::array<char, 65536> buffer;
    while (!enough()) {
      if (came_.size() > most) return End::full;
      const auto got = system::receive_some(fd_, buffer);
      if (!got) return End::closed;
      came_.append(buffer.data(), *got);
      if (*got > 0) continue;
      if (over_() || deadline_.over()) return End::late;
      system::wait_readable(fd_, Deadline(std::min(kGlance, deadline_.left_s())));
    }
    return End::full;
  }

  const int fd_;
  const Deadline& deadline_;
  const std::function<bool()>& over_;
  std::string came_;
};

NcclReply refused(std::string why, bool silent = false) {
  return {.json = {}, .refused = std::move(why), .silent = silent};
}

/// Its first word says what it is.
std::optional<NcclReply> greet(Conversation& with) {
  std::string line;
  const End end = with.say(fmt::format("CLIENT PROTOCOL {}\n", kProtocol)) ? with.line(line) : End::closed;
  if (end == End::late) return refused("it did not answer in time", true);
  constexpr std::string_view kServer = "SERVER PROTOCOL ";
  if (!line.starts_with(kServer)) return refused("it is no RAS service of NCCL");
  int version = 0;
  const char* const last = line.data() + line.size();
  const auto [read_to, error] = std::from_chars(line.data() + kServer.size(), last, version);
  if (error != std::errc() || read_to != last || version != kProtocol)
    return refused(fmt::format("it speaks version {} of its protocol, and headrace version {}",
                               line.substr(kServer.size(), 20), kProtocol));
  return std::nullopt;
}

}  // namespace

NcclReply ask_nccl(const system::SocketAddress& at, const std::function<bool()>& over, double patience_s) {
  const Deadline deadline(patience_s);
  const system::Connected connected = system::connected(at, Deadline(std::min(1.0, patience_s)));
  if (!connected.socket) return refused(fmt::format("it took no connection: {}", errno_text(connected.error)), true);
  Conversation with(connected.socket.get(), deadline, over);
  if (auto end = greet(with)) return *std::move(end);
  std::string line;
  for (const std::string_view command : {"TIMEOUT 2\n", "SET FORMAT json\n"}) {
    if (!with.say(command)) return refused("it closed the connection");
    const End end = with.line(line);
    if (end == End::late) return refused("it did not answer in time", true);
    if (line != "OK")
      return refused(line.starts_with("ERROR: Unknown command")
                         ? "it answers in text alone, as before NCCL 2.28.7: 'ncclras -v' prints that"
                         : "it did not answer as NCCL does");
  }
  if (!with.say("STATUS\n")) return refused("it closed the connection");
  NcclReply reply{.json = ""};
  const End end = with.rest(*reply.json);
  if (end == End::late) return refused("it did not answer in time", true);
  if (end == End::full) return refused(fmt::format("its answer is longer than {} MiB", kLongestAnswer >> 20));
  return reply;
}

}  // namespace headrace::observe
