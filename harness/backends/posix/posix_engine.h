// Blocking reads, one at a time per thread, as in a data-loader worker. Always there.
#pragma once

#include <memory>

#include "harness/backends/file_io.h"
#include "harness/backends/notes.h"
#include "harness/backends/stream_io.h"

namespace headrace {

std::unique_ptr<StorageEngine> make_posix_engine();
/// Copies from mapped files, as in loaders of token files and memory-mapped arrays. Blocks only.
std::unique_ptr<StorageEngine> make_mmap_engine();

/// Gives the calling thread a descriptor table of its own, with the descriptors open now. In a shared table the kernel
/// counts a reference at every call. Threads that open files wait for each other. The processes of a data loader share
/// none. Descriptors that it opens are closed when it ends.
void own_descriptors() noexcept;

/// The readers behind it, one file each.
std::unique_ptr<WholeFileReader> make_posix_whole_files(const FileTable& files, const ReaderOptions& options,
                                                        Notes& notes);
std::unique_ptr<BlockReader> make_posix_blocks(const FileTable& files, std::span<const std::uint32_t> selected,
                                               const ReaderOptions& options, Notes& notes);
std::unique_ptr<BlockWriter> make_posix_writer();

// send and recv of sockets.

std::unique_ptr<StreamEngine> make_posix_streams();

}  // namespace headrace
