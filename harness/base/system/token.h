// The secret that a client must know.
#pragma once

#include <string>

namespace headrace::system {

/// 16 bytes that cannot be guessed. Throws RunError.
std::string new_token();

/// Compares in a time that does not depend on where they differ.
bool same_token(const std::string& given, const std::string& right);

}  // namespace headrace::system
