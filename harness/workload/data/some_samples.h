// Some of the samples that a data set holds, as they are stored, for what decodes them elsewhere.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/backends/formats/format.h"
#include "harness/record/file_table.h"
#include "harness/workload/data/data_set.h"

namespace headrace {

/// By the names of its files or objects; where those do not report, by what the first one begins with.
formats::Format format_of(const DataSet& data);

/// Up to `most`, from all over it. Of shards (tar, TFRecord, MDS) the part of each sample that begins as one of `beginnings`, out of
/// the first 16 MiB of up to eight of them; else whole files or objects. What is damaged or begins otherwise is left out. Throws
/// RunError where one cannot be read.
std::vector<std::vector<unsigned char>> some_samples(const DataSet& data, std::vector<std::string_view> beginnings,
                                                     std::size_t most);

// How many bytes a sample takes in shards that are there already, by counting samples in some of them.

struct OwnSamples {
  formats::Format format = formats::Format::none;
  double stored_size = 0;  // of a sample, with its headers and padding [B]; 0: it is not known
};

/// Of tar, TFRecord and MDS files that this machine reads: of a few of them, the first 16 MiB of each.
OwnSamples own_samples(const FileTable& files);

}  // namespace headrace
