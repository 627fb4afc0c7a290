// nccl_scatter - parts of the first GPU's numbers, one to each.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclScatter final : public network::NcclCollective {
 public:
  explicit NcclScatter(Params& p) : NcclCollective(p, Collective::scatter) {}
};

const Register<NcclScatter> registered_nccl_scatter{"nccl_scatter", "parts of the first GPU's numbers, one to each"};

}  // namespace
