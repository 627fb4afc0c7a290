// Requests of a network file system's client to its servers: reads that its own cache served are not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/machine/mount.h"
#include "harness/machine/nfs_stats.h"

namespace headrace::system {

// Requests of shared file systems' clients to their servers, as they count them; NFS's are in nfs_stats.h. Written from
// sources and manuals, and never run on a live client.

/// Requests of one kind, since the mount.
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

/// Adds one of Lustre's object storage clients, by its "stats": "ost_read 31 samples [usec] 120 8000 63000 ...". These
/// are a count, the least, the most and the sum (Lustre manual, "Monitoring client activity"). "req_active" shows how
/// many were under way.
void add_lustre_requests(std::string_view text, ClientRequestTable& all);

/// Requests in a JuiceFS client's `.stats`: to the object store by method, and to the metadata engine. Counters as in
/// juicefs-stats(1): "juicefs_object_request_durations_histogram_seconds_GET_total 12" and "..._sum 0.31".
ClientRequestTable parse_juicefs_requests(std::string_view text);

/// Requests of the kernel's CephFS client: the table with "avg_lat(us)" of `metrics/latency` (kernel 5.16 and later).
/// The older `metrics` has "read 5 914013 ...", a count and the mean.
ClientRequestTable parse_ceph_requests(std::string_view text);

/// Since the mount, of all processes of this machine.
struct ClientCounters {
  std::uint64_t read_bytes = 0;
  std::uint64_t requests = 0;     // for names and attributes; 0 where the client does not count them
  std::optional<NfsStats> nfs{};  // more, where the client is the kernel's of NFS
  ClientRequestTable asked{};     // of others that count their requests by kind
};

/// "read_bytes" of one Lustre object storage client's stats: RPCs to the servers, "read_bytes 31 samples [bytes] 4096
/// 4194304 61865984". Those of llite are reads of programs, from the cache or not, and prove nothing.
std::optional<std::uint64_t> parse_lustre_stats(std::string_view text);

/// Bytes from the object store by a JuiceFS client's `.stats` in its mount: "juicefs_object_request_data_bytes_GET
/// 1048576". Parsed, never run here.
std::optional<std::uint64_t> parse_juicefs_stats(std::string_view text);

/// Bytes of the kernel's CephFS client from the object servers. They are "read" in the table with "total_sz(bytes)" of
/// `metrics/size` (kernel 5.16 and later), or of the older `metrics`. Parsed, never run here.
std::optional<std::uint64_t> parse_ceph_sizes(std::string_view text);

/// The folder "FSID.clientN" of debugfs for `source`. It is the only one, else the only one whose FSID `source` has
/// ("user@FSID.name=/"). "" where it cannot be reported: another mount's traffic proves nothing.
std::string ceph_client_of(const std::vector<std::string>& folders, std::string_view source);

/// Nothing where the file system has no such counters, or they cannot be read.
std::optional<ClientCounters> read_client_counters(const Mount& mount);

/// Where read_client_counters() looks: "mountstats", "osc stats", ".stats", "ceph metrics"; "" where it has nowhere to.
std::string client_counters_of(const Mount& mount);

/// Why nothing that this mount's client counts proves where bytes came from. "" where that is not known, or something
/// does.
std::string_view why_not_counted(const Mount& mount);

// Requests of a FUSE mount that its daemon has not answered yet, as the kernel counts them: /sys/fs/fuse/connections.

bool is_fuse(const Mount& mount);

class FuseQueue {
 public:
  /// `connections`: where the kernel's control file system is mounted. It lets root and the mount's owner look.
  explicit FuseQueue(const Mount& mount, const std::string& connections = "/sys/fs/fuse/connections");
  /// Requests of all processes that wait for the daemon, or with it. Nothing: the mount is no FUSE mount, or may not be
  /// looked at.
  std::optional<unsigned> waiting() const noexcept;

 private:
  std::string path_;  // "" = none
};

}  // namespace headrace::system
