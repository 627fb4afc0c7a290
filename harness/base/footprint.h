// The resources that a point needs, reported before anything runs.
#pragma once

#include <cstdint>
#include <string>

namespace headrace {

/// The cost of a point, for `plan`, the ETA and the disk check. Estimates; 0 = unknown.
struct Footprint {
  std::uint64_t written_bytes = 0;  // made once, in the scratch folder
  std::uint64_t written_files = 0;  // and folders, too
  std::uint64_t read_bytes_per_repetition = 0;
  std::uint64_t memory_bytes = 0;      // buffers, all workers
  std::uint64_t page_cache_bytes = 0;  // the bytes that a repetition leaves in the page cache, if there is room
  std::string data_id;                 // points with the same id share their files; "" = not shared
  double repetition_s = 0;             // at most, however many ranks take part; of what a job's data has no part in
  double around_s = 0;                 // before the first repetition and after the last one
  std::string reckoned_with = "";      // which machine that is the time of; "" = any
};

// A workload's answer whether it can run here.

/// Why a workload cannot run here. Recorded and shown; not an error.
struct Skip {
  std::string reason;
};

}  // namespace headrace
