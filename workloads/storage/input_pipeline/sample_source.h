// The samples of one worker of an input pipeline, a batch at a time. The readers are those that measure storage alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "harness/backends/file_io.h"
#include "harness/record/recorder.h"
#include "workloads/storage/block_places.h"
#include "workloads/storage/file_cursor.h"
#include "workloads/storage/whole_files.h"

namespace headrace {

/// A sample that came, or the file that holds a few. `error.code` 0: it came whole.
struct SampleRead {
  std::uint64_t begin_ns = 0, end_ns = 0, bytes = 0;
  OperationError error;
  /// Its bytes, or what of it is to be decoded, where the source keeps them; valid until the next read.
  std::span<const unsigned char> data{};
  std::uint32_t file = 0;                    // that it was read from
  std::uint64_t data_offset = 0;             // where `data` begins in the file
  std::optional<std::uint32_t> data_file{};  // that `data` is of, where it is another
  std::uint64_t offset = 0;                  // of its block that took the longest
  std::uint64_t longest_ns = 0;              // how long that took; 0: not reported
  bool held = false;                         // it is kept for later, and none is handed over yet
  bool over = false;                         // there was no more
};

/// For one worker; used on its thread.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual void attach() {}
  virtual void detach() noexcept {}
  /// Untimed, before a phase.
  virtual void rewind(std::uint64_t seed) = 0;
  /// Is there all of its `batch`-th batch, as far as can be known? Batches are asked for in turn.
  virtual bool has(std::uint64_t batch) noexcept = 0;
  /// Reads the `number`-th sample of that batch; samples are asked for in turn.
  virtual SampleRead read(std::uint64_t batch, std::uint64_t number) noexcept = 0;
  /// Does it decode its own reads? Then decode() decodes the last result of read(); false: it cannot, and `done` has
  /// the error.
  virtual bool decodes() const noexcept { return false; }
  virtual bool decode(SampleRead&) noexcept { return true; }
  /// The last sample cannot be used: the next read has the same number.
  virtual void pass_over() noexcept {}
};

/// Reads `wanted` bytes at `request` and adds them to `done`; false: `done` gets the error. `file`: in the data set.
bool read_block(BlockReader& reader, const BlockRequest& request, std::uint64_t wanted, std::uint32_t file,
                SampleRead& done) noexcept;

/// A file that was read whole, with its bytes where `reader` keeps them.
SampleRead sample_of(const FileCompletion& file, WholeFileReader& reader) noexcept;

/// Which worker of how many, of which GPU's loader of how many; a batch has that many operations.
struct WorkerShare {
  unsigned gpu = 0, gpus = 1, worker = 0, workers = 1;
  std::uint64_t per_batch = 1;
  bool own_share = false;  // samples of its own; else whole batches by turns
};

/// A file for each operation, in the order of `order`, which is filled before each phase.
std::unique_ptr<SampleSource> whole_files_source(std::unique_ptr<WholeFileReader> reader, const FileQueue& order,
                                                 const WorkerShare& share);

/// Samples of `sample_size`, one after the other, out of `shards` read from front to back by `block_size`. `keep`:
/// their bytes come with them. `continued`: each phase continues where the one before ended, once around.
std::unique_ptr<SampleSource> shards_source(std::unique_ptr<BlockReader> reader, const FileTable& files,
                                            std::vector<std::uint32_t> shards, std::uint64_t block_size,
                                            std::uint64_t sample_size, std::uint64_t per_batch, bool keep = false,
                                            bool continued = false);

/// Samples that are each that many blocks, anywhere in large files; every block once. `keep`: so, too; each is one block then.
std::unique_ptr<SampleSource> places_source(std::unique_ptr<BlockReader> reader, const BlockPlaces& places,
                                            std::uint64_t block_size, std::uint64_t blocks_per_sample, unsigned number,
                                            unsigned count, std::uint64_t per_batch, bool keep = false);

/// Samples in memory, each `bytes` copied out of `memory`, again and again. `memory` stays where it is.
std::unique_ptr<SampleSource> memory_source(std::span<const unsigned char> memory, std::uint64_t bytes);

/// Samples that are there at once.
std::unique_ptr<SampleSource> no_source();

}  // namespace headrace
