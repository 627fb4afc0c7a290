// Blocking reads, one at a time per thread: what a data-loader worker does. Always there.
#pragma once

#include <memory>

#include "harness/backends/file_io.h"
#include "harness/backends/notes.h"

namespace headrace {

std::unique_ptr<StorageEngine> make_posix_engine();
/// Copies from mapped files: what loaders of token files and memory-mapped arrays do. Blocks only.
std::unique_ptr<StorageEngine> make_mmap_engine();

/// The readers behind it, one file each.
std::unique_ptr<WholeFileReader> make_posix_whole_files(const FileTable& files,
                                                        const ReaderOptions& options, Notes& notes);
std::unique_ptr<BlockReader> make_posix_blocks(const FileTable& files,
                                               std::span<const std::uint32_t> selected,
                                               const ReaderOptions& options, Notes& notes);
std::unique_ptr<BlockWriter> make_posix_writer();

}  // namespace headrace
