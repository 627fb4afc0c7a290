// libibverbs in words: refused memory, failed completions, addresses; each with what to do.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "harness/base/error.h"

namespace headrace::verbs {

/// "mlx5_0/1: create a queue pair: Cannot allocate memory (ENOMEM)".
RunError refused(const std::string& port, const std::string& what, int code);

/// The same for memory to be pinned: when the limit is too small, it reports `needed_bytes` in all.
RunError refused_memory(const std::string& port, std::uint64_t bytes, std::uint64_t needed_bytes, int code);

/// "transport retry counter exceeded: ...".
std::string completion_text(int status, unsigned mtu);

/// A packet's payload in bytes, and back; 0 and the greatest enum not above where there is none.
unsigned mtu_bytes(ibv_mtu mtu);
ibv_mtu mtu_of(unsigned bytes);

}  // namespace headrace::verbs
