// In place of dynamic.cc where the build found no infiniband/mlx5dv.h.
#include "harness/backends/verbs/dynamic.h"
#include "harness/base/error.h"

namespace headrace::verbs {

std::unique_ptr<RdmaEndpoint> make_dynamic_endpoint(const Device&, const RdmaPort&, const RdmaSettings&) {
  throw Unsupported("transport: dc: built without infiniband/mlx5dv.h (Debian: libibverbs-dev)");
}

unsigned lag_legs(const Device&) { return 0; }

}  // namespace headrace::verbs
