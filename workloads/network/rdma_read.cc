// rdma_read - messages read from the other node's memory.
#include "workloads/network/rdma_pair.h"

namespace {
using namespace headrace;

/// How fast does data come out of another node's memory, and how soon?
class RdmaRead final : public network::RdmaPair {
 public:
  explicit RdmaRead(Params& p) : RdmaPair(p, "rdma_read", RdmaOp::read) {}
};

const Register<RdmaRead> registered_rdma_read{
    "rdma_read", "messages read from another node's memory by its network card: bandwidth, or latency"};

}  // namespace
