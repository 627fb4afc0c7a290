// Puts a data set's files in a declared page-cache state, and looks what can prove that they are (rule 13).
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
  std::uint64_t seed = 0;              // says which files are looked at where there are many
};

/// Brings `files` into `state` (cold: written back, advised away, caches dropped if allowed; warm:
/// read once; bypassed and asis: nothing), then looks what is resident and, if allowed, drops the
/// names and inodes that looking brought back. Where only names are used: cold drops all caches,
/// warm opens every file once, and nothing is looked at. Fills all that is known before the timed
/// region; do not look again before it. Works on up to 32 threads. Throws RunError when a file
/// cannot be opened or read. `progress` hears of bytes.
void establish(CacheState state, const FileTable& files, const CacheOptions& options, CacheProof& proof,
               const DataProgress& progress = {});

/// Share of the data set's bytes in the page cache, 0..1 (every file when there are few, else a
/// seeded sample of 2,000); -1 when the kernel does not report: for other owners' files that this
/// process may not write.
double resident_share(const FileTable& files, std::string& method, std::uint64_t seed = 0);

/// Advises a file or a block device out of the page cache, and returns how many of its bytes are still there; nothing where
/// this process may not read it, or the kernel does not report.
std::optional<std::uint64_t> drop_file(const std::string& path);

}  // namespace headrace
