// The kernel's counts of one TCP connection (TCP_INFO).
#pragma once

#include <cstdint>

namespace headrace::system {

/// Zeros where the kernel does not report.
struct TcpCounts {
  std::uint64_t segments = 0;       // sent with data, those sent again among them
  std::uint64_t retransmitted = 0;  // of them, sent again
  std::uint64_t acknowledged = 0;   // bytes of this end that the other one has
  std::uint64_t received = 0;       // bytes that have come, whether they were taken or not
  unsigned timeouts = 0;            // in a row: nothing was acknowledged, and the oldest segment was sent again
};

TcpCounts tcp_counts(int fd);

}  // namespace headrace::system
