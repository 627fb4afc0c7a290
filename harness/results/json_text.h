// JSON as run files have it: readable, compact where it is long, without values that JSON cannot
// hold.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace headrace::results {

/// Objects one key a line, lists of plain values (and of short lists of them) on one line; ends
/// with a newline. Throws RunError that names the key when a number is not finite: no file may say
/// null where a value was meant.
std::string json_text(const nlohmann::ordered_json& value);

}  // namespace headrace::results
