// The parts of the codec over libpng.
#pragma once

#include <memory>

#include "harness/backends/codec.h"

namespace headrace::png {

std::unique_ptr<ImageDecoder> make_decoder(const DecodeLimits& limits);

}  // namespace headrace::png
