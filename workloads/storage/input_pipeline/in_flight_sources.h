// Where a worker that keeps requests in flight gets its samples: those of sample_source.h, whichever comes first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/record/file_table.h"
#include "workloads/storage/block_places.h"
#include "workloads/storage/input_pipeline/sample_source.h"
#include "workloads/storage/whole_files.h"

namespace headrace {

/// A file for each operation, the worker's own part of `order`, up to `depth` of them under way. Files that came
/// together are handed over before more are requested, so that their data stays in place.
std::unique_ptr<SampleSource> files_in_flight(std::unique_ptr<WholeFileReader> reader, const FileQueue& order,
                                              const WorkerShare& share);

/// Samples that are each that many blocks, `depth` blocks under way.
std::unique_ptr<SampleSource> places_in_flight(std::unique_ptr<BlockReader> reader, const BlockPlaces& places,
                                               std::uint64_t block_size, std::uint64_t blocks_per_sample,
                                               unsigned number, unsigned count, std::uint64_t per_batch,
                                               std::uint32_t depth);

/// A reader of one block after the other, front to back, file by file, with `depth` of them in flight. They are the
/// next ones in that order, as long as the caller keeps to it. `reader`: over files of `sizes`.
std::unique_ptr<BlockReader> read_ahead(std::unique_ptr<BlockReader> reader, std::vector<std::uint64_t> sizes,
                                        std::uint64_t block_size, std::uint32_t depth);

}  // namespace headrace
