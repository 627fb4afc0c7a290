// An array in numpy's format (numpy.lib.format, versions 1 to 3): a header that declares the content, then its bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/backends/codec.h"

namespace headrace::npz {

/// Does `array` hold all bytes that its header declares? False: `error` names the fault, from the array's begin on.
bool check_npy(std::span<const unsigned char> array, DecodeError& error) noexcept;

/// The header of a row of `count` unsigned bytes.
std::string npy_header(std::uint64_t count);

}  // namespace headrace::npz
