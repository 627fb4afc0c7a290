// The answer of NCCL's RAS service, version 2.28.7 or later, as JSON: foreign text, taken whole or not at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/observe/nccl/nccl_seen.h"

namespace headrace::observe {

/// Nothing, and why in `refused`, where it is no such answer, or holds more than any job has.
std::optional<NcclLook> read_nccl_answer(std::string_view text, std::string& refused);

}  // namespace headrace::observe
