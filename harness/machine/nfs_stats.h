// An NFS client's counters of a mount: /proc/self/mountstats, of all processes of this machine since the mount.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

/// One line of "per-op statistics". Times are of all requests together [ms].
struct NfsOperation {
  std::string name;  // "READ"
  std::uint64_t requests = 0, sent = 0;
  std::uint64_t queue_ms = 0, round_trip_ms = 0, execution_ms = 0;
  std::uint64_t errors = 0;  // of kernels before 5.3: not counted
};

/// The lines "xprt:", one for each connection (nconnect), added up.
struct NfsTransports {
  std::string protocol;  // "tcp", "rdma", "udp"
  std::uint64_t connections = 0;
  std::uint64_t sent = 0;
  std::uint64_t in_flight_sum = 0;  // requests that were under way, at each that was sent
  std::uint64_t waiting_sum = 0;    // requests that waited for a slot
  std::uint64_t most_slots = 0;     // in use at once on one connection; 0 = not counted (rdma)
};

struct NfsStats {
  std::uint64_t read_bytes = 0;     // that came from the server
  std::uint64_t name_requests = 0;  // all but READ, WRITE and NULL
  NfsTransports transports;
  std::vector<NfsOperation> operations;  // with at least one request
};

/// The counters of the NFS mount at `point`. The format is the kernel's (fs/nfs/super.c, net/sunrpc/stats.c).
std::optional<NfsStats> parse_mountstats(std::string_view text, std::string_view point);

}  // namespace headrace::system
