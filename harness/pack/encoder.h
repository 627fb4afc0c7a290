// One sample as a shard holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/backends/formats/mds.h"
#include "harness/pack/image_folder.h"

namespace headrace::pack {

/// How samples are stored: the format, and of MDS the columns, which all samples have.
struct Encoding {
  formats::Format format = formats::Format::tar;
  std::vector<formats::MdsColumn> columns;
};

/// For the samples of `from`. MDS: x the image and y its class, as streaming's vision data sets have them, and what lies
/// beside an image by its extension. Throws UsageError where a sample lacks a part that others have.
Encoding encoding_of(const ImageFolder& from, formats::Format format);

/// Reads the files of `sample` and puts it into `out`, which is emptied first: for tar each file as KEY.EXTENSION, and its
/// class as KEY.cls; for TFRecord a tf.train.Example with the features of ImageNet's; for MDS the sizes of its columns, and
/// them. Throws RunError that names a file that cannot be read, or is not the one that was listed.
void encode(const ImageFolder& from, const Sample& sample, const Encoding& as, std::string& out);

/// What that takes [B]; of TFRecord no less.
std::uint64_t encoded_bytes(const ImageFolder& from, const Sample& sample, const Encoding& as);

}  // namespace headrace::pack
