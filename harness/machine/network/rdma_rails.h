// The RDMA ports of a node, in the order in which the ranks of the node take them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/backends/rdma.h"

namespace headrace {

struct RdmaRails {
  std::vector<const RdmaPort*> ports;  // with those that are down, so that a rail has the same number on every node
  std::string chosen;                  // by which of NCCL's settings; "" = by none
  std::string left_out;                // which active ports are not among them, and why; "" = all are
};

/// `devices` as NCCL_IB_HCA names them: "mlx5_0,mlx5_3:1", in that order. "^mlx5_1" all but that one. `*` and `?` as in
/// a shell. Names are whole, with a leading `=` or without. `number`: of the ports; 0 = any. Ports not requested by
/// name are in PCI order, with the link layer and rate of most active ports. Otherwise a port for management or storage
/// would be a rail that reaches no host. Where `devices` is "", NCCL_IB_HCA decides as it does for NCCL, if it is set.
/// Throws RunError where a device or port is not there, Unsupported where none can be used.
RdmaRails rdma_rails(std::span<const RdmaPort> ports, const std::string& devices, unsigned number);

/// "InfiniBand, 400 Gbit/s".
std::string line_of(const RdmaPort& port);

}  // namespace headrace
