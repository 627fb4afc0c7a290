// The ports of a node that RDMA goes by, in the order in which the ranks of the node take them.
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

/// `devices` as NCCL_IB_HCA names them: "mlx5_0,mlx5_3:1", in that order; "^mlx5_1" all but that one; `*` and `?` as in a
/// shell; names are whole, with a leading `=` or without. `number`: of the ports; 0 = any. What is not asked for by name is
/// in PCI order, and of the link layer and rate that most active ports have: a port for management or storage among those
/// of the fabric would be a rail that reaches nobody.
/// Where `devices` is "", NCCL_IB_HCA decides as it does for NCCL, if it is set.
/// Throws RunError where a device or port is not there, Unsupported where none can be used.
RdmaRails rdma_rails(std::span<const RdmaPort> ports, const std::string& devices, unsigned number);

/// "InfiniBand, 400 Gbit/s".
std::string line_of(const RdmaPort& port);

}  // namespace headrace
