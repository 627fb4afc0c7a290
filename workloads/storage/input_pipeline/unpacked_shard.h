// A shard that is compressed as a whole: collected, unpacked, and then parsed, as StreamingDataset does.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "harness/backends/codec.h"
#include "harness/backends/formats/sample_parser.h"

namespace headrace {

/// "a.mds.zstd" -> "a.mds"; "" of a shard that is not compressed.
std::string_view unpacked_name(std::string_view path);

/// Takes the bytes of a compressed shard, and gives the samples that `inner` finds in the unpacked ones: with end(), for no
/// sample can be used before the shard is complete. Offsets are those in the unpacked shard.
std::unique_ptr<formats::SampleParser> unpacking_parser(std::unique_ptr<formats::SampleParser> inner,
                                                        const Codec& codec);

}  // namespace headrace
