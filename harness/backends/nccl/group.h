// Communicators of this process's GPUs. A thread calls them that is left behind where a call does not return in time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "harness/backends/nccl.h"
#include "harness/backends/nccl/api.h"

namespace headrace::nccl {

/// What the library complained of, "" when of nothing: reported with each failure.
using Complaints = std::function<std::string()>;

/// Throws RunError.
std::unique_ptr<NcclGroup> make_group(const Api& api, const ncclUniqueId& id, unsigned size,
                                      std::span<const NcclMember> members, double timeout_s, Complaints complaints);

}  // namespace headrace::nccl
