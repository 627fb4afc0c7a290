#include "harness/engine/operation_error.h"

#include <fmt/format.h>

#include <system_error>

namespace headrace::engine {

std::string describe(const OperationError& error, std::uint64_t count,
                     std::span<const std::string> parts, const DataSet* data) {
  const std::string part =
      error.part >= 1 && error.part <= parts.size() ? parts[error.part - 1u] : "operation";
  const std::string file = data != nullptr && error.file < data->files().count()
                               ? data->files().root() + "/" + data->files().path(error.file)
                               : fmt::format("file {}", error.file);
  std::string why;
  if (error.code == OperationError::kShortRead) {
    why = "the file ended early: it is shorter than when the data set was opened";
  } else if (error.code == OperationError::kWrongData) {
    why = "the data is not what was written";
  } else {
    why = fmt::format("{} (errno {})", std::generic_category().message(error.code), error.code);
  }
  return fmt::format("{} of {} at offset {}: {}; {} operation{} failed", part, file, error.offset,
                     why, count, count == 1 ? "" : "s");
}

}  // namespace headrace::engine
