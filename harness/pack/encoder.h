// One sample as a shard holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/backends/formats/mds.h"
#include "harness/backends/object_store.h"
#include "harness/pack/image_folder.h"

namespace headrace::pack {

/// How samples are stored: the format, and of MDS the columns, which all samples have.
struct Encoding {
  formats::Format format = formats::Format::tar;
  std::vector<formats::MdsColumn> columns;
  bool own_classes = false;  // of tar: each sample has a .cls file, which is packed instead of its folder's number
};

/// For the samples of `from`. MDS: x is the image and y its class, as in streaming's vision data sets. Files next to
/// an image go by their extension. Throws UsageError where a sample lacks a part that others have. Of tar that part is
/// the .cls file, where folders are classes.
Encoding encoding_of(const ImageFolder& from, formats::Format format);

/// The samples, and what reads them on this thread where they are objects.
struct Source {
  const ImageFolder& from;
  ObjectReader* objects = nullptr;
};

/// Reads the files of `sample` and puts it into `out`, which is emptied first. For tar each file is KEY.EXTENSION, and
/// its class is KEY.cls. For TFRecord it is a tf.train.Example with ImageNet's features; for MDS the columns with their
/// sizes. Throws RunError that names a file that cannot be read, or is not the one that was listed.
void encode(const Source& from, const Sample& sample, const Encoding& as, std::string& out);

/// The size of that [B]; of TFRecord at least.
std::uint64_t encoded_bytes(const ImageFolder& from, const Sample& sample, const Encoding& as);

}  // namespace headrace::pack
