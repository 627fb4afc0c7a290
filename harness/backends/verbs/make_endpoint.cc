// Which kind of endpoint settings ask for.
#include "harness/backends/verbs/connections.h"
#include "harness/backends/verbs/datagrams.h"
#include "harness/backends/verbs/dynamic.h"

namespace headrace::verbs {

std::unique_ptr<RdmaEndpoint> make_endpoint(const Device& device, const RdmaPort& port, const RdmaSettings& settings) {
  if (settings.transport == RdmaTransport::datagram) return std::make_unique<Datagrams>(device, port, settings);
  if (settings.transport == RdmaTransport::dynamic) return make_dynamic_endpoint(device, port, settings);
  return std::make_unique<Connections>(device, port, settings);
}

}  // namespace headrace::verbs
