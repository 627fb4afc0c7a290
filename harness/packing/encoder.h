// One sample as a shard holds it.
#pragma once

#include <cstdint>
#include <string>

#include "harness/formats/format.h"
#include "harness/packing/image_folder.h"

namespace headrace::packing {

/// Reads the files of `sample` and puts it into `out`, which is emptied first: for tar each file as KEY.EXTENSION, and its
/// class as KEY.cls; for TFRecord a tf.train.Example with the features of ImageNet's. Throws RunError that names a file
/// that cannot be read, or is not the one that was listed.
void encode(const ImageFolder& from, const Sample& sample, formats::Format format, std::string& out);

/// What that takes [B]; of TFRecord no less.
std::uint64_t encoded_bytes(const ImageFolder& from, const Sample& sample, formats::Format format);

}  // namespace headrace::packing
