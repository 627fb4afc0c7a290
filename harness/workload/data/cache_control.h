// Puts a data set's files in a declared page-cache state, and looks for its proof (rule 13).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/record/cache_state.h"
#include "harness/workload/data/data_set.h"
#include "harness/workload/data/file_survey.h"

namespace headrace {

/// The whole cache may be dropped (root and permitted) besides advising the kernel file by file.
struct CacheOptions {
  bool drop_caches = false;
  CacheUse use;
  const FileSurvey* survey = nullptr;  // of the files, where it is known
  std::uint64_t seed = 0;              // selects the inspected files where there are many
};

/// Brings `files` into `state` (cold: written back, advised away, caches dropped if allowed; warm: read once; bypassed
/// and asis: nothing). Then it looks at residency and, if allowed, drops the names and inodes that this look brought
/// back. Where only names are used: cold drops all caches, warm opens every file once, and nothing is looked at. Fills
/// in all facts from before the timed region; do not look again before it. Works on up to 32 threads. Throws RunError
/// when a file cannot be opened or read. `progress` hears of bytes.
void establish(CacheState state, const FileTable& files, const CacheOptions& options, CacheProof& proof,
               const DataProgress& progress = {});

/// Share of the data set's bytes in the page cache, 0..1. Uses every file if there are few, else 2,000 seeded samples.
/// -1 when the kernel does not report: for other owners' files that this process may not write.
double resident_share(const FileTable& files, std::string& method, std::uint64_t seed = 0);

/// Advises a file or a block device out of the page cache, and returns the number of its remaining bytes. Nothing where
/// this process may not read it, or the kernel does not report.
std::optional<std::uint64_t> drop_file(const std::string& path);

}  // namespace headrace
