// The rails of a bring-up: first those by TCP, each a network interface of every node or whichever leads there, then those by
// RDMA, each a port of every node. Pairs are measured over each, and each node's end of one is a NIC.
#pragma once

#include <string>
#include <vector>

#include "harness/bringup/record.h"

namespace headrace::bringup {

unsigned tcp_rails(const Record& record);
/// Of the last session.
unsigned rdma_rails(const Record& record);
inline unsigned rails(const Record& record) { return tcp_rails(record) + rdma_rails(record); }
inline bool is_rdma(const Record& record, unsigned rail) { return rail >= tcp_rails(record); }

/// Has this node it?
bool has_rail(const Record& record, unsigned node, unsigned rail);
/// "eth1", "mlx5_0/1", "TCP"; "" where there is but one, which needs no name.
std::string rail_name(const Record& record, unsigned node, unsigned rail);
/// "node3 mlx5_0/1".
std::string end_name(const Record& record, unsigned node, unsigned rail);

/// Sets how many rails by RDMA there are in the last session: as many ports as more than half of the nodes `there` have, of those
/// that may use them. Who has fewer differs. Where there are none, the step is skipped, with the reason.
void set_rdma_rails(Record& record, const std::vector<unsigned>& there);

}  // namespace headrace::bringup
