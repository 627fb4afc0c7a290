#include "harness/machine/nfs_stats.h"

#include <algorithm>

#include "harness/base/system/kernel_files.h"
#include "harness/machine/mount.h"

namespace headrace::system {
namespace {

/// xprt: tcp PORT BINDS CONNECTS CONNECT_TIME IDLE_TIME SENDS RECEIVED BAD_XIDS IN_FLIGHT BACKLOG MAX_SLOTS SENDING
/// PENDING xprt: rdma, the same up to BACKLOG. Udp and local have fewer connection words, and are not added up.
void add_transport(const std::vector<std::string>& words, NfsTransports& all) {
  if (words.size() < 2) return;
  all.protocol = words[1];
  ++all.connections;
  constexpr std::size_t kSends = 7, kInFlight = 10, kBacklog = 11, kMaxSlots = 12;
  if (all.protocol != "tcp" && all.protocol != "rdma") return;
  all.sent += number_at(words, kSends).value_or(0);
  all.in_flight_sum += number_at(words, kInFlight).value_or(0);
  all.waiting_sum += number_at(words, kBacklog).value_or(0);
  if (all.protocol == "tcp") all.most_slots = std::max(all.most_slots, number_at(words, kMaxSlots).value_or(0));
}

/// READ: requests sent timeouts bytes_sent bytes_received queue round_trip execution errors
void add_operation(const std::vector<std::string>& words, NfsStats& all) {
  NfsOperation one;
  one.name = words[0].substr(0, words[0].size() - 1);
  one.requests = number_at(words, 1).value_or(0);
  if (one.requests == 0) return;
  one.sent = number_at(words, 2).value_or(0);
  one.queue_ms = number_at(words, 6).value_or(0);
  one.round_trip_ms = number_at(words, 7).value_or(0);
  one.execution_ms = number_at(words, 8).value_or(0);
  one.errors = number_at(words, 9).value_or(0);
  if (one.name != "READ" && one.name != "WRITE" && one.name != "NULL") all.name_requests += one.requests;
  all.operations.push_back(std::move(one));
}

}  // namespace

std::optional<NfsStats> parse_mountstats(std::string_view text, std::string_view point) {
  // device server:/export mounted on /mnt with fstype nfs4 statvers=1.1
  //   bytes:  normal-read normal-written direct-read direct-written from-server to-server
  //   pages-read pages-written
  constexpr std::size_t kFromServer = 5;
  std::optional<NfsStats> found;
  bool here = false, operations = false;
  for (const std::string& line : split(text, '\n')) {
    std::string tidy(trim(line));
    std::replace(tidy.begin(), tidy.end(), '\t', ' ');
    const std::vector<std::string> words = split(tidy, ' ');
    if (words.empty()) continue;
    if (words[0] == "device") {
      here = words.size() > 4 && unescape_octal(words[4]) == point;
      operations = false;
      if (here) found.reset();  // of two mounts on one point the later one hides the earlier
    } else if (here && words[0] == "bytes:") {
      if (const auto bytes = number_at(words, kFromServer)) found.emplace().read_bytes = *bytes;
    } else if (here && found && words[0] == "xprt:") {
      add_transport(words, found->transports);
    } else if (here && tidy == "per-op statistics") {
      operations = true;
    } else if (here && found && operations && words[0].ends_with(':')) {
      add_operation(words, *found);
    }
  }
  return found;
}

}  // namespace headrace::system
