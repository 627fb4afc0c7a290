// JSON as run files have it: readable, compact where it is long, without values that JSON cannot
// hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headrace::results {

/// Objects one key a line, lists of plain values (and of short lists of them) on one line. Ends with a newline. Throws
/// RunError that names the key when a number is not finite. No file may have null in place of a value.
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace headrace::results
