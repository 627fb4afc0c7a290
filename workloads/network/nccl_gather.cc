// nccl_gather - a part of every GPU, all at the first.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclGather final : public network::NcclCollective {
 public:
  explicit NcclGather(Params& p) : NcclCollective(p, Collective::gather) {}
};

const Register<NcclGather> registered_nccl_gather{"nccl_gather", "a part of every GPU, all at the first"};

}  // namespace
