// Samples for decoders where there are none: images of waves and noise, stored in a codec's format.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/backends/codec.h"

namespace headrace::decode {

/// Image `number`, of half to one and a half times the mean `width` [pixels] and three quarters as high. Its noise is
/// between none and twice a photograph's, so that bytes and pixels differ between images. A codec of no images gets its
/// RGB bytes. `quality`: 1..100. Throws RunError.
std::vector<unsigned char> draw_sample(const Codec& codec, std::uint64_t number, std::uint32_t width, int quality);

/// The mean width at which such samples have `bytes` each, 16 at least and 16384 at most. Throws RunError.
std::uint32_t width_for(const Codec& codec, std::uint64_t bytes, int quality);

}  // namespace headrace::decode
