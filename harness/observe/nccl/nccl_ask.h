// Asks NCCL's RAS service over its socket, as NVIDIA's client ncclras does: it answers and changes nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/system/socket.h"
#include "harness/observe/nccl/nccl_seen.h"

namespace headrace::observe {

struct NcclReply {
  std::optional<std::string> json;  // its answer, as it was
  std::string refused{};            // else why there is none: a part of a sentence, "it ..."
  bool silent = false;              // it did not answer in time: it may later
};

inline constexpr double kNcclPatience = 10;  // [s], of a whole answer; NCCL itself waits 2 s for each of its ranks

/// `over`: the answer is no longer needed.
NcclReply ask_nccl(const system::SocketAddress& at, const std::function<bool()>& over,
                   double patience_s = kNcclPatience);

// The answer of NCCL's RAS service, version 2.28.7 or later, as JSON: foreign text, taken whole or not at all.

/// Nothing, and why in `refused`, where it is no such answer, or holds more than any job has.
std::optional<NcclLook> read_nccl_answer(std::string_view text, std::string& refused);

}  // namespace headrace::observe
