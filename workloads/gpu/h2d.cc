// h2d - copies from host memory to GPUs: what the link gives, what pinning is worth.
#include "workloads/gpu/transfer.h"

namespace {
using namespace headrace;

/// How fast does data come to the GPU?
class H2d final : public gpu::Transfer {
 public:
  explicit H2d(Params& p) : Transfer(p, CopyKind::h2d) {}
};

const Register<H2d> registered_h2d{
    "h2d", "copies from host memory of a kind to GPUs, each alone or all at once: the speed of the link"};
}  // namespace
