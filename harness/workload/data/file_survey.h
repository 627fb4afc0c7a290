// The storage of a data set's files, by the file system. Is there as much to read as their names and sizes promise, and
// do they stay the same ones?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/workload/data/data_set.h"

namespace headrace {

struct FileSurvey {
  std::uint64_t bytes = 0;               // by the files' sizes
  std::uint64_t distinct_bytes = 0;      // those of different inodes: shared ones count once
  std::uint64_t hole_bytes = 0;          // holes and extents that were never written: no storage is asked for them
  std::string shared_file, sparse_file;  // the first of which that holds; "" = none
  std::uint64_t compressed_bytes = 0;    // stored compressed, or of squashfs: perhaps
  bool stored_is_known = true;           // how many bytes storage has of each of those
  double rounding = 1;                   // least bytes that storage gives for each byte of whole files: file systems
      // read whole blocks, and fewer where it is known as how many they are compressed
  std::vector<std::string> places;   // a file on each file system that has some of them
  std::vector<std::uint64_t> marks;  // of each file: changes when another takes its place
  bool stable_inodes = true;         // marks have the number of the inode
};

/// Looks at every file, opening each. `stable_inodes`: the file system never renumbers. Throws
/// RunError that names the file when one cannot be opened.
FileSurvey survey(const FileTable& files, bool stable_inodes, const DataProgress& progress = {});

/// Throws RunError when a file is not the one that was surveyed. Looks at every file, or, with
/// `at_most`, at that many, evenly spread.
void check_unchanged(const FileTable& files, const FileSurvey& before, const DataProgress& progress = {},
                     std::uint32_t at_most = UINT32_MAX);

}  // namespace headrace
