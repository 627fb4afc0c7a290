// nccl_all_gather - every GPU's part on every GPU: weights of sharded training before they are used.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclAllGather final : public network::NcclCollective {
 public:
  explicit NcclAllGather(Params& p) : NcclCollective(p, Collective::all_gather) {}
};

const Register<NcclAllGather> registered_nccl_all_gather{
    "nccl_all_gather", "every GPU's part on every GPU: weights of sharded training before they are used"};

}  // namespace
