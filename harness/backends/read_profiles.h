// The calls of data loaders when they read: system calls, sizes and order, as traced with strace. Storage so gets a
// training job's requests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "harness/backends/file_io.h"

namespace headrace {

/// `whole` and `ranged` are the storage engines' own readers; the others block, as loaders' workers do.
enum class ReadProfile {
  whole,      // a file: open, read to its size, close
  ranged,     // blocks of files that stay open
  pil,        // a file as PIL reads an image: Python's buffered file, then 64 KiB at a time
  wds,        // a shard from front to back as WebDataset does: tarfile's 10 KiB at a time out of a buffered file
  mds,        // a sample of a shard as Mosaic Streaming does: open, 8 bytes of index, the sample, close
  mmap,       // mapped files, copied out: page faults
  row_group,  // a row group as pyarrow does: open, the footer at the end, the group, close
  npz,        // a file as numpy.load() reads an array: the directory at the end, headers, then 256 KiB at a time
};

/// As configurations write it.
ReadProfile read_profile(std::string_view word);

/// The piece that a buffered file of Python gives to tarfile [B].
inline constexpr std::uint64_t kTarRecord = 10240;

/// Reads whole files by `profile`: pil, mmap or npz. `keep_data`: data() gives all bytes of the file until the next read.
std::unique_ptr<WholeFileReader> profile_file_reader(ReadProfile profile, const FileTable& files,
                                                     bool keep_data = false);

/// Reads blocks by `profile`. It is wds (blocks of kTarRecord, in the files' order), mds or row_group (at most
/// `block_size` each). Files are opened when they are read, each time anew.
std::unique_ptr<BlockReader> profile_block_reader(ReadProfile profile, const FileTable& files,
                                                  std::span<const std::uint32_t> selected, std::uint64_t block_size);

}  // namespace headrace
