#include "harness/machine/tcp_counts.h"

#include <linux/tcp.h>  // knows members that the C library's own tcp_info lacks
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstddef>

namespace headrace::system {

TcpCounts tcp_counts(int fd) {
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return {};
  TcpCounts counts;
  counts.timeouts = info.tcpi_retransmits;
  if (length >= offsetof(tcp_info, tcpi_data_segs_out) + sizeof info.tcpi_data_segs_out) {
    counts.segments = info.tcpi_data_segs_out;
    counts.retransmitted = info.tcpi_total_retrans;
    counts.acknowledged = info.tcpi_bytes_acked;
    counts.received = info.tcpi_bytes_received;
  }
  return counts;
}

}  // namespace headrace::system
