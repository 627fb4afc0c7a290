// rdma_write - messages written into the other node's memory.
#include "workloads/network/rdma_pair.h"

namespace {
using namespace headrace;

/// How fast does data come into another node's memory, and how soon?
class RdmaWrite final : public network::RdmaPair {
 public:
  explicit RdmaWrite(Params& p) : RdmaPair(p, "rdma_write", RdmaOp::write) {}
};

const Register<RdmaWrite> registered_rdma_write{
    "rdma_write", "messages written into another node's memory by its network card: bandwidth, or latency to and fro"};

}  // namespace
