// A whole file as a text.
#pragma once

#include <string>

namespace headrace {

/// Throws UsageError "cannot be read: ..."; who knows what the file was wanted for says its path.
std::string file_text(const std::string& path);

}  // namespace headrace
