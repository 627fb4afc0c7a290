// In place of manager.cc where the build found no rdma/rdma_cma.h.
#include "harness/backends/verbs/manager.h"
#include "harness/base/error.h"

namespace headrace::verbs {

std::unique_ptr<ConnectionManager> make_connection_manager(const RdmaPort&, unsigned) {
  throw Unsupported("connect: rdma_cm: built without librdmacm's headers (Debian: librdmacm-dev)");
}

}  // namespace headrace::verbs
