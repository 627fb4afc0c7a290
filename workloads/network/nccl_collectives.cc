// The collective operations of GPUs over NCCL, a workload each.
#include "workloads/network/nccl_collective.h"

namespace {
using namespace headrace;

template <Collective what>
class NcclOf final : public network::NcclCollective {
 public:
  explicit NcclOf(Params& p) : NcclCollective(p, what) {}
};

const Register<NcclOf<Collective::all_gather>> registered_nccl_all_gather{
    "nccl_all_gather", "every GPU's part on every GPU: weights of sharded training before they are used"};
const Register<NcclOf<Collective::all_reduce>> registered_nccl_all_reduce{
    "nccl_all_reduce", "sums of every GPU's numbers on every GPU: gradients of data-parallel training"};
const Register<NcclOf<Collective::all_to_all>> registered_nccl_all_to_all{
    "nccl_all_to_all", "a part from every GPU to every GPU: tokens to their experts and back"};
const Register<NcclOf<Collective::all_to_all_v>> registered_nccl_all_to_all_v{
    "nccl_all_to_all_v", "uneven parts from every GPU to every GPU: tokens to experts of which some are popular"};
const Register<NcclOf<Collective::broadcast>> registered_nccl_broadcast{
    "nccl_broadcast", "one GPU's numbers on every GPU: weights at the start and after a restart"};
const Register<NcclOf<Collective::gather>> registered_nccl_gather{"nccl_gather",
                                                                  "a part of every GPU, all at the first"};
const Register<NcclOf<Collective::reduce>> registered_nccl_reduce{"nccl_reduce",
                                                                  "sums of every GPU's numbers at the first"};
const Register<NcclOf<Collective::reduce_scatter>> registered_nccl_reduce_scatter{
    "nccl_reduce_scatter", "sums of every GPU's numbers, a part on each: gradients of sharded training"};
const Register<NcclOf<Collective::scatter>> registered_nccl_scatter{"nccl_scatter",
                                                                    "parts of the first GPU's numbers, one to each"};
const Register<NcclOf<Collective::send_recv>> registered_nccl_send_recv{
    "nccl_send_recv", "from each GPU to the next: activations between pipeline stages"};

}  // namespace
