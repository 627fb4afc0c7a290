// Two hosts over one RDMA port each, alone: latency first, then each direction at full speed over several queue pairs.
// Both write into the other's memory, and the port's counts in this time are taken. Both ends open, exchange's card,
// and connect; then both measure, and one of them leads. The buffers at the end are compared with the sent data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "harness/backends/rdma.h"
#include "harness/bringup/network/pair_latency.h"

namespace headrace {

/// The same at both ends, but for the port.
struct RdmaPairPlan {
  std::string port;          // of this end: "mlx5_0/1"
  double time_s = 1;         // of one way
  unsigned queue_pairs = 4;  // that data goes by
  double silence_s = 5;      // of the other end, and it is given up
  double spare_s = 20;       // for a slow end, beyond the plan; then this end gives up, however the other one behaves
  std::string sys = "/sys";  // the path of /sys; tests set their own
};

/// One end's results.
struct RdmaPairEnd {
  double sent = 0;        // of its payload, acknowledged [B/s], without the first fifth of the time
  double sent_again = 0;  // by its port's counters: times of all packets, as a share
  std::map<std::string, std::uint64_t> own_errors;  // by how much its port's counters of them rose
  std::string damaged;                              // the difference between received and sent data; "" = none
  std::optional<PairLatency> latency;               // of the leading end
};

class RdmaPair {
 public:
  /// Throws RunError, or Unsupported: there is no such port, it is down, memory cannot be registered.
  RdmaPair(RdmaBackend& rdma, const RdmaPairPlan& plan);
  ~RdmaPair();

  /// The facts that the other end needs to connect, as bytes.
  std::string card() const;
  /// Throws RunError.
  void connect(const std::string& others_card);
  /// Once both are connected; the other end does the same. Throws RunError: which end went silent, and the failure.
  RdmaPairEnd measure(bool leads);

 private:
  class Ends;
  std::unique_ptr<Ends> ends_;
};

}  // namespace headrace
