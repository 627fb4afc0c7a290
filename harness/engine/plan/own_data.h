// A data set of the user's, compared with the job that is to read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/job/job.h"

namespace headrace {

/// Walks `path`, which is only read. Throws UsageError, one sentence with a remedy, when it has nothing readable or
/// other data than the job's. Examples are files of other sizes, files where the job has shards, or too few samples.
/// Returns remarks: a part of the job's data proves less. Where the job does not give its shards' overhead per sample,
/// counts it in them and sets it.
std::vector<std::string> check_own_data(job::Job& job, const std::string& path);

/// How many files there are below `path`, bytes of all of them, and of the largest. Throws UsageError as above.
/// Are they all named as Parquet files are?
bool is_parquet(const std::string& path);
double files_of_own_data(const std::string& path);
double bytes_of_own_data(const std::string& path);
std::uint64_t largest_of_own_data(const std::string& path);

}  // namespace headrace
