// Copying out of a mapped file, pages of which may be unreadable.
#pragma once

#include <cstdint>

namespace headrace {

/// Once, before the first guarded_copy(). A mapping has no errno: an unreadable page, or one no longer in the file,
/// raises SIGBUS. During a guarded copy that ends the copy; at any other time it has its usual effect.
void catch_bus_errors();

/// False when a page could not be read.
bool guarded_copy(unsigned char* to, const unsigned char* from, std::uint64_t length) noexcept;

/// Where the last copy of this thread that failed met the unreadable page.
const void* unreadable_address() noexcept;

}  // namespace headrace
