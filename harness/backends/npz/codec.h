// The parts of the codec over zlib.
#pragma once

#include <memory>

#include "harness/backends/codec.h"

namespace headrace::npz {

/// Every array of a file, as numpy.load() reads them. It is copied out of the file 256 KiB at a time with its CRC-32.
/// Packed ones (savez_compressed) are unpacked.
std::unique_ptr<ByteDecoder> make_decoder(const DecodeLimits& limits);

}  // namespace headrace::npz
