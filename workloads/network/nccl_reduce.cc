// nccl_reduce - sums of every GPU's numbers at the first.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclReduce final : public network::NcclCollective {
 public:
  explicit NcclReduce(Params& p) : NcclCollective(p, Collective::reduce) {}
};

const Register<NcclReduce> registered_nccl_reduce{"nccl_reduce", "sums of every GPU's numbers at the first"};

}  // namespace
