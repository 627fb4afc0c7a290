// nccl_broadcast - one GPU's numbers on every GPU: weights at the start and after a restart.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclBroadcast final : public network::NcclCollective {
 public:
  explicit NcclBroadcast(Params& p) : NcclCollective(p, Collective::broadcast) {}
};

const Register<NcclBroadcast> registered_nccl_broadcast{
    "nccl_broadcast", "one GPU's numbers on every GPU: weights at the start and after a restart"};

}  // namespace
