// Asks NCCL's RAS service over its socket, as NVIDIA's client ncclras does: it answers and changes nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "harness/base/system/socket.h"

namespace headrace::observe {

struct NcclReply {
  std::optional<std::string> json;  // its answer, as it was
  std::string refused{};            // else why there is none: a part of a sentence, "it ..."
  bool silent = false;              // it did not answer in time: it may later
};

inline constexpr double kNcclPatience = 10;  // [s], of a whole answer; NCCL itself waits 2 s for each of its ranks

/// `over`: nobody needs the answer any more.
NcclReply ask_nccl(const system::SocketAddress& at, const std::function<bool()>& over,
                   double patience_s = kNcclPatience);

}  // namespace headrace::observe
