// The data set of a folder, known by the names of its files: for the first commands and for `measure FOLDER`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::cli {

/// A kind of data set: its shipped job, and the workload with parameters that reads it in the same manner.
struct NearData {
  std::string_view job, reads, workload;
  std::vector<std::pair<std::string, std::string>> params;
};

/// The kind that most of these names have; nullptr: none is known.
const NearData* near_data(const std::vector<std::string>& names);

/// At most 1,000 names of files in `folder` and below, the nearest first; links are followed. Leaves out by-products,
/// hidden ones and folders that cannot be read.
std::vector<std::string> names_near(const std::string& folder);

/// The kind of a file, a folder, a pattern or an address. Where no name is known, the mean size decides. Throws
/// UsageError where the folder holds no file, RunError where that is not known because a listing fails.
const NearData& data_at(const std::string& path);

}  // namespace headrace::cli
