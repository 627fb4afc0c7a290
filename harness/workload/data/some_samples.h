// Some of the samples that a data set holds, as they are stored, for other decoders.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/record/file_table.h"
#include "harness/workload/data/data_set.h"

namespace headrace {

/// By the names of its files or objects. Where those do not show it, by the begin of the first one.
formats::Format format_of(const DataSet& data);

/// Up to `most`, from all over it. For shards (tar, TFRecord, MDS) the part of each sample that begins as one of
/// `beginnings`. It reads the first 16 MiB of up to eight of them. Else whole files or objects. Samples that are
/// damaged or begin otherwise are left out. Throws RunError where one cannot be read.
std::vector<std::vector<unsigned char>> some_samples(const DataSet& data, std::vector<std::string_view> beginnings,
                                                     std::size_t most);

// How many bytes a sample takes in shards that are there already, by counting samples in some of them.

struct OwnSamples {
  formats::Format format = formats::Format::none;
  double stored_size = 0;  // of a sample, with its headers and padding [B]; 0: it is not known
};

/// The first 16 MiB of a few tar, TFRecord and MDS files that this machine reads.
OwnSamples own_samples(const FileTable& files);

}  // namespace headrace
