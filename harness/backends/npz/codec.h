// The parts of the codec over zlib.
#pragma once

#include <memory>

#include "harness/backends/codec.h"

namespace headrace::npz {

/// Every array of a file, as numpy.load() reads them: copied out of the file 256 KiB at a time with their CRC-32, unpacked
/// where they are packed (savez_compressed).
std::unique_ptr<ByteDecoder> make_decoder(const DecodeLimits& limits);

}  // namespace headrace::npz
