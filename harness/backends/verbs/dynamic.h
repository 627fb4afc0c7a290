// Dynamically connected queue pairs (DC), of NVIDIA's cards. An initiator reaches any target that it knows, without a
// connection to each.
#pragma once

#include <memory>

#include "harness/backends/rdma.h"
#include "harness/backends/verbs/ports.h"

namespace headrace::verbs {

/// Throws Unsupported where the card, or libmlx5, has none.
std::unique_ptr<RdmaEndpoint> make_dynamic_endpoint(const Device& device, const RdmaPort& port,
                                                    const RdmaSettings& settings);

/// Of the bond that the card runs in hardware; 0 where it runs none, or is another driver's.
unsigned lag_legs(const Device& device);

}  // namespace headrace::verbs
