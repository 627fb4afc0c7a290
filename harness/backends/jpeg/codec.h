// The parts of the codec over libjpeg-turbo.
#pragma once

#include <memory>
#include <vector>

#include "harness/backends/codec.h"

namespace headrace::jpeg {

std::unique_ptr<ImageDecoder> make_decoder(const DecodeLimits& limits);

/// Baseline, 4:2:0. Throws RunError.
std::vector<unsigned char> encode(const Pixels& pixels, int quality);

}  // namespace headrace::jpeg
