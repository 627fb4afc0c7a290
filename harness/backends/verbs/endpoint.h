// Queue pairs of one port with common completion queues.
#pragma once

#include <memory>

#include "harness/backends/rdma.h"
#include "harness/backends/verbs/ports.h"

namespace headrace::verbs {

/// Throws RunError.
std::unique_ptr<RdmaEndpoint> make_endpoint(const Device& device, const RdmaPort& port, const RdmaSettings& settings);

}  // namespace headrace::verbs
