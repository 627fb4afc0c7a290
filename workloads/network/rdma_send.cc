// rdma_send - messages that the other node receives into buffers of its choice.
#include "workloads/network/rdma_pair.h"

namespace {
using namespace headrace;

/// How fast do messages go to another node that waits for them, and how soon?
class RdmaSend final : public network::RdmaPair {
 public:
  explicit RdmaSend(Params& p) : RdmaPair(p, "rdma_send", RdmaOp::send) {}
};

const Register<RdmaSend> registered_rdma_send{
    "rdma_send", "messages that another node receives into buffers of its choice: bandwidth, or latency to and fro"};

}  // namespace
