// Many reads in flight from one thread, and blocks over sockets, through io_uring.
#pragma once

#include <memory>

#include "harness/backends/file_io.h"
#include "harness/backends/notes.h"
#include "harness/backends/stream_io.h"

namespace headrace::uring {

/// `link`: open, read and close of a file go to the kernel together where it can do that. Otherwise one by one.
std::unique_ptr<WholeFileReader> make_whole_files(const FileTable& files, const ReaderOptions& options, Notes& notes,
                                                  bool link = true);
std::unique_ptr<BlockReader> make_blocks(const FileTable& files, std::span<const std::uint32_t> selected,
                                         const ReaderOptions& options, Notes& notes);
std::unique_ptr<BlockWriter> make_writer(const WriterOptions& options, Notes& notes);
std::unique_ptr<StreamEngine> make_streams();

}  // namespace headrace::uring
