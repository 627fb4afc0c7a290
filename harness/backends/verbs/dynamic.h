// Dynamically connected queue pairs (DC), of NVIDIA's cards: an initiator reaches any target that it knows, without a
// connection of its own to each.
#pragma once

#include <memory>

#include "harness/backends/rdma.h"
#include "harness/backends/verbs/ports.h"

namespace headrace::verbs {

/// Throws Unsupported where the card, or libmlx5, has none.
std::unique_ptr<RdmaEndpoint> make_dynamic_endpoint(const Device& device, const RdmaPort& port,
                                                    const RdmaSettings& settings);

}  // namespace headrace::verbs
