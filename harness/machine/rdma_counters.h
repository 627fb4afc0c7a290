// An RDMA port's counters since it came up, from /sys: Documentation/ABI/stable/sysfs-class-infiniband, and the
// drivers' own hw_counters.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::system {

// In the port's folder `counters`: damaged or lost on the wire, links that fell.
inline constexpr std::array<std::string_view, 8> kWireErrors{"symbol_error",
                                                             "link_error_recovery",
                                                             "link_downed",
                                                             "port_rcv_errors",
                                                             "port_rcv_remote_physical_errors",
                                                             "local_link_integrity_errors",
                                                             "excessive_buffer_overrun_errors",
                                                             "port_xmit_discards"};
// In `hw_counters`: retries and timeouts of the transport.
inline constexpr std::array<std::string_view, 5> kTransportErrors{
    "out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "rnr_nak_retry_err", "rx_icrc_encapsulated"};

struct RdmaCounters {
  // Counters that the port's own cable, plug or receiver raises; not those of a partner or the path to it.
  std::map<std::string, std::uint64_t> own_errors;
  std::uint64_t sent_again = 0;  // times that something was asked for again, or not acknowledged in time
  // The readable ones of both: within a container's own network that is often nothing.
  bool reports_errors = false, reports_again = false;
  std::vector<std::string> full;  // of the former: those at the limit of their width, which rise no more
};

/// The counters of "mlx5_0/1"; empty where there is no such port. Takes well below a second: some cards are asked.
/// Never throws.
RdmaCounters rdma_counters(const std::string& port, const std::string& sys = "/sys");

}  // namespace headrace::system
