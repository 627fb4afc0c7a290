#include "harness/engine/operation_error.h"

#include <fmt/format.h>

#include "harness/backends/formats/bad_sample.h"
#include "harness/base/error.h"

namespace headrace::engine {

std::string describe(const OperationError& error, std::uint64_t count, std::span<const std::string> parts,
                     const FileTable* files) {
  const std::string part = error.part >= 1 && error.part <= parts.size() ? parts[error.part - 1u] : "operation";
  const std::string file = files != nullptr && error.file < files->count() ? files->full_path(error.file)
                                                                           : fmt::format("file {}", error.file);
  const std::string at = error.offset == OperationError::kNoOffset ? "" : fmt::format(" at offset {}", error.offset);
  std::string why;
  if (error.code == OperationError::kShortRead) {
    why = files != nullptr && files->holds_objects()
              ? "fewer bytes came than the object had when the data set was opened"
              : "the file ended early: it is shorter than when the data set was opened";
  } else if (error.code == OperationError::kWrongData) {
    why = "the data differs from the written data";
  } else if (error.code == OperationError::kBadSample) {
    return fmt::format("{}{}: {}; {} bad sample{}", file, at, to_string(static_cast<formats::Flaw>(error.flaw)), count,
                       count == 1 ? "" : "s");
  } else if (error.code == OperationError::kChanged) {
    why = "the object was replaced after the data set was opened";
  } else if (error.code == OperationError::kRangeIgnored) {
    why = "the server gave the whole object where a range was asked for (200 instead of 206)";
  } else if (error.code <= OperationError::kHttp) {
    const int status = OperationError::kHttp - error.code;
    why = fmt::format("the server answered {}{}", status,
                      status == 503 || status == 429 ? ", which asks for fewer requests: the store throttles" : "");
  } else {
    why = errno_text(error.code);
  }
  return fmt::format("{} of {}{}: {}; {} operation{} failed", part, file, at, why, count, count == 1 ? "" : "s");
}

}  // namespace headrace::engine
