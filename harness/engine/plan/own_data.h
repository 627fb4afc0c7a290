// A data set of the user's, compared with the job that is to read it.
#pragma once

#include <string>
#include <vector>

#include "harness/job/job.h"

namespace headrace {

/// Walks `path`, which is only read. Throws UsageError, one sentence with what to do, when nothing readable is there or
/// what is there is not the job's: files of other sizes, one file for each sample where the job has shards or the other
/// way round, or more samples than it has. Returns remarks: a part of the job's data proves less. Where the job does not
/// say what its shards' format adds to each sample, that is counted in them and set.
std::vector<std::string> check_own_data(job::Job& job, const std::string& path);

/// How many files there are below `path`, and bytes of all of them. Throws UsageError as above.
/// Are they all named as Parquet files are?
bool is_parquet(const std::string& path);
double files_of_own_data(const std::string& path);
double bytes_of_own_data(const std::string& path);

}  // namespace headrace
