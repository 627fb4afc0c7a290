#include "harness/observe/nccl/nccl_ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>

#include "harness/base/deadline.h"
#include "harness/base/error.h"

namespace headrace::observe {
namespace {

constexpr int kProtocol = 2;  // of NCCL 2.24 to 2.30
constexpr std::size_t kLongestLine = 256;
constexpr std::size_t kLongestAnswer = 32 << 20;  // [B]; 600 B for each rank of each communicator
constexpr double kGlance = 0.1;                   // [s]: interval between checks whether the answer is still needed

enum class End { full, closed, late };

/// A connection that is read by lines, then to its end.
class Conversation {
 public:
  Conversation(int fd, const Deadline& deadline, const std::function<bool()>& over)
      : fd_(fd), deadline_(deadline), over_(over) {}

  bool say(std::string_view line) { return system::send_all(fd_, line, deadline_); }
  /// The next line without its end; `text` has its received part.
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

/// Its first word is its kind.
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

namespace {

using nlohmann::json;

constexpr int kDeepest = 8;                  // an answer of NCCL is 6 deep
constexpr std::size_t kMostRanks = 1 << 20;  // of all communicators
constexpr std::size_t kLongestName = 128;    // bytes of a host, a hash, a version, the name of an operation

/// Why an answer is none.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const json& member_of(const json& of, const char* key) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  if (!of.is_object() || found == of.end()) throw NoAnswer(std::string("it has no ") + key);
  return *found;
}

std::string short_name(const json& of, const char* key) {
  const json& one = member_of(of, key);
  if (!one.is_string() || one.get_ref<const std::string&>().size() > kLongestName)
    throw NoAnswer(std::string(key) + " is no short text");
  return one.get<std::string>();
}

int whole_number(const json& of, const char* key, int least) {
  const json& one = member_of(of, key);
  if (!one.is_number_integer() || one < least || one > INT32_MAX)
    throw NoAnswer(std::string(key) + " is no number that it can be");
  return one.get<int>();
}

bool boolean_of(const json& of, const char* key) {
  const json& one = member_of(of, key);
  if (!one.is_boolean()) throw NoAnswer(std::string(key) + " is neither true nor false");
  return one.get<bool>();
}

const json& list_of(const json& of, const char* key) {
  const json& one = member_of(of, key);
  if (!one.is_array()) throw NoAnswer(std::string(key) + " is no list");
  return one;
}

/// The operations that ranks have launched, of kinds that are added to `operations`.
void count_launched(const json& counts, std::vector<std::string>& operations, NcclRank& rank) {
  if (!counts.is_object()) throw NoAnswer("collective_counts has no counts");
  for (const auto& [kind, count] : counts.items()) {
    if (!count.is_number_unsigned() || kind.size() > kLongestName) throw NoAnswer("a count is no number");
    auto at = std::find(operations.begin(), operations.end(), kind);
    if (at == operations.end()) {
      if (operations.size() == kMostNcclOperations) throw NoAnswer("it counts too many kinds of operations");
      at = operations.insert(at, kind);
    }
    rank.launched[static_cast<std::size_t>(at - operations.begin())] = count.get<std::uint64_t>();
  }
}

NcclRank rank_of(const json& one, std::vector<std::string>& operations) {
  NcclRank rank{
      .rank = whole_number(one, "rank", 0), .host = short_name(one, "host"), .pid = whole_number(one, "pid", -1)};
  const json& status = member_of(one, "status");
  rank.running = whole_number(status, "init_state", 0) == 0 && !boolean_of(status, "finalize_called") &&
                 !boolean_of(status, "destroy_flag") && !boolean_of(status, "abort_flag");
  count_launched(member_of(one, "collective_counts"), operations, rank);
  return rank;
}

NcclCommunicator communicator_of(const json& one) {
  NcclCommunicator all{.id = short_name(one, "hash") + ":" + short_name(one, "secondary_hash"),
                       .size = whole_number(one, "size", 1)};
  std::set<int> numbers;
  const auto add = [&](int number) {
    if (number >= all.size || !numbers.insert(number).second) throw NoAnswer("a rank is twice in its communicator");
  };
  for (const json& rank : list_of(one, "ranks")) {
    all.ranks.push_back(rank_of(rank, all.operations));
    add(all.ranks.back().rank);
  }
  for (const json& rank : list_of(one, "missing_ranks")) {
    const json& status = member_of(rank, "status");
    all.missing.push_back({.rank = whole_number(rank, "rank", 0),
                           .host = short_name(rank, "host"),
                           .pid = whole_number(rank, "pid", -1),
                           .unresponsive = boolean_of(status, "unresponsive"),
                           .dead = boolean_of(status, "considered_dead")});
    add(all.missing.back().rank);
  }
  return all;
}

}  // namespace

std::optional<NcclLook> read_nccl_answer(std::string_view text, std::string& refused) {
  bool too_deep = false;
  const json all = json::parse(
      text.begin(), text.end(),
      [&too_deep](int depth, json::parse_event_t, json&) {
        too_deep = too_deep || depth > kDeepest;
        return depth <= kDeepest;
      },
      false);
  try {
    if (all.is_discarded() || too_deep) throw NoAnswer("it is no JSON as NCCL writes it");
    NcclLook look{.version = short_name(all, "nccl_version")};
    std::size_t ranks = 0;
    for (const json& one : list_of(all, "communicators")) {
      look.communicators.push_back(communicator_of(one));
      ranks += look.communicators.back().ranks.size() + look.communicators.back().missing.size();
      if (ranks > kMostRanks) throw NoAnswer("it has too many ranks");
    }
    return look;
  } catch (const NoAnswer& e) {
    refused = e.what();
    return std::nullopt;
  }
}

}  // namespace headrace::observe
