// How many bytes a sample takes in shards that are there already, by counting samples in some of them.
#pragma once

#include "harness/backends/formats/format.h"
#include "harness/record/file_table.h"

namespace headrace {

struct OwnSamples {
  formats::Format format = formats::Format::none;
  double stored_size = 0;  // of a sample, with its headers and padding [B]; 0: it is not known
};

/// Of tar, TFRecord and MDS files that this machine reads: of a few of them, the first 16 MiB of each.
OwnSamples own_samples(const FileTable& files);

}  // namespace headrace
