// Non-blocking communicators of this process's GPUs, polled with a deadline and given up when it passes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "harness/backends/nccl.h"
#include "harness/backends/nccl/api.h"

namespace headrace::nccl {

/// Throws RunError.
std::unique_ptr<NcclGroup> make_group(const Api& api, const ncclUniqueId& id, unsigned size,
                                      std::span<const NcclMember> members, double timeout_s);

}  // namespace headrace::nccl
