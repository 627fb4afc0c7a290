// How many samples a shard holds, reported by its headers.
#pragma once

#include <cstdint>
#include <string>

#include "harness/backends/formats/format.h"

namespace headrace::formats {

/// Whole samples at the beginning of a shard, and the bytes that hold them, headers and padding included.
struct CountedSamples {
  std::uint64_t bytes = 0, samples = 0;
};

/// The samples in about the first `most` bytes of the shard at `path`. For MDS, which begins with a count, all of them.
/// Zeros where it cannot be read or is no shard of this format.
CountedSamples count_samples(const std::string& path, Format format, std::uint64_t most);

}  // namespace headrace::formats
