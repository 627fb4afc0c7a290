// d2h - copies from GPUs to host memory: what checkpoints and metrics leave by.
#include "workloads/gpu/transfer.h"

namespace {
using namespace headrace;

/// How fast does data leave the GPU?
class D2h final : public gpu::Transfer {
 public:
  explicit D2h(Params& p) : Transfer(p, CopyKind::d2h) {}
};

const Register<D2h> registered_d2h{"d2h",
                                   "copies from GPUs to host memory of a kind, each alone or all at "
                                   "once: the path of a checkpoint out of the GPU"};
}  // namespace
