// What the kernel counted of one TCP connection (TCP_INFO).
#pragma once

#include <cstdint>

namespace headrace::system {

/// Of what this end sent; zeros where the kernel does not tell.
struct TcpCounts {
  std::uint64_t segments = 0;       // with data, those sent again among them
  std::uint64_t retransmitted = 0;  // of them, sent again
  std::uint64_t acknowledged = 0;   // bytes
};

TcpCounts tcp_counts(int fd);

}  // namespace headrace::system
