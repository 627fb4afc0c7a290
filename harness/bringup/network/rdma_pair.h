// Two hosts over one RDMA port each, and nobody else: latency first, then each way at full speed over several queue pairs, by
// writes into the other's memory, with what the port counted meanwhile. Both ends open, exchange's card, and connect;
// then both measure, and one of them leads. What lies in the buffers at the end is compared with what was sent.
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
  std::string sys = "/sys";  // where that is looked for; tests lay their own
};

/// What one end saw.
struct RdmaPairEnd {
  double sent = 0;        // of its payload, acknowledged [B/s], without the first fifth of the time
  double sent_again = 0;  // by its port's counters: times of all packets, as a share
  std::map<std::string, std::uint64_t> own_errors;  // by how much its port's counters of them rose
  std::string damaged;                              // how what came is not what was sent; "" = it is
  std::optional<PairLatency> latency;               // of the leading end
};

class RdmaPair {
 public:
  /// Throws RunError, or Unsupported: there is no such port, it is down, memory cannot be registered.
  RdmaPair(RdmaBackend& rdma, const RdmaPairPlan& plan);
  ~RdmaPair();

  /// What the other end must know to connect, as bytes.
  std::string card() const;
  /// Throws RunError.
  void connect(const std::string& others_card);
  /// Once both are connected; the other end is at it, too. Throws RunError: who went silent, and what failed.
  RdmaPairEnd measure(bool leads);

 private:
  class Ends;
  std::unique_ptr<Ends> ends_;
};

}  // namespace headrace
