// nccl_all_to_all - a part from every GPU to every GPU: tokens to their experts and back.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

class NcclAllToAll final : public network::NcclCollective {
 public:
  explicit NcclAllToAll(Params& p) : NcclCollective(p, Collective::all_to_all) {}
};

const Register<NcclAllToAll> registered_nccl_all_to_all{
    "nccl_all_to_all", "a part from every GPU to every GPU: tokens to their experts and back"};

}  // namespace
