// Requests of shared file systems' clients to their servers, as they count them; NFS's are in nfs_stats.h. What stands here was
// read from sources and manuals, and never run on a live client.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

/// Of one kind, since the mount.
struct ClientRequests {
  std::string name;  // "ost_read", as the client calls it
  std::uint64_t count = 0;
  double round_trip_s = 0;  // of all together: network and server
};

struct ClientRequestTable {
  std::vector<ClientRequests> kinds;  // with at least one request
  std::uint64_t connections = 0;      // 0 = not counted
  std::uint64_t sent = 0;             // for which learns how many were under way
  double in_flight_sum = 0;
};

/// Adds one of Lustre's object storage clients, by its "stats": "ost_read 31 samples [usec] 120 8000 63000 ...", a count, the
/// least, the most and the sum (Lustre manual, "Monitoring client activity"); "req_active" shows how many were under way.
void add_lustre_requests(std::string_view text, ClientRequestTable& all);

/// Of a JuiceFS client's `.stats`: requests to the object store by their method, and to the metadata engine, by what
/// juicefs-stats(1) reads: "juicefs_object_request_durations_histogram_seconds_GET_total 12" and "..._sum 0.31".
ClientRequestTable parse_juicefs_requests(std::string_view text);

/// Of the kernel's CephFS client: the table with "avg_lat(us)" of `metrics/latency` (kernel 5.16 and later), or of the older
/// `metrics`: "read 5 914013 ...", a count and the mean.
ClientRequestTable parse_ceph_requests(std::string_view text);

}  // namespace headrace::system
