// The rails of a bring-up. First those by TCP: a network interface of every node, or the route's. Then those by RDMA: a
// port at the same place of every node. Pairs are measured over each, and each node's end of one is a NIC.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

/// All nodes have as many.
unsigned tcp_rails(const Record& record);
/// With those by RDMA of any session, which keep their numbers.
unsigned rails(const Record& record);
/// The same, were this its next session.
unsigned rails_with(const Record& record, const SessionRecord& next);
inline bool is_rdma(const Record& record, unsigned rail) { return rail >= tcp_rails(record); }

/// Does the last session measure it of this node?
bool has_rail(const Record& record, unsigned node, unsigned rail);
/// The node's RDMA port there, "mlx5_0/1"; "" = it has none.
std::string rdma_port(const Record& record, unsigned node, unsigned rail);

/// "eth1", "mlx5_0/1", "TCP"; "" where there is but one, which needs no name.
std::string rail_name(const Record& record, unsigned node, unsigned rail);
/// "node3 mlx5_0/1".
std::string end_name(const Record& record, unsigned node, unsigned rail);

/// Sets the RDMA rails of the last session. They are the ports that more than half of the nodes `there` have, where
/// they may use them. In a retest of the accepted nodes. A node without one differs. Without rails the step is skipped,
/// with the reason.
void set_rdma_rails(Record& record, const std::vector<unsigned>& there);

}  // namespace headrace::bringup
