// The sentence for operations that failed: which part, which file, where, why, how many.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "harness/record/file_table.h"
#include "harness/record/recorder.h"

namespace headrace::engine {

/// "read of /data/d000/f000001.bin at offset 4096: Input/output error (EIO); 3 operations
/// failed". `files` may be nullptr: then the file's number stands for its name.
std::string describe(const OperationError& error, std::uint64_t count, std::span<const std::string> parts,
                     const FileTable* files);

}  // namespace headrace::engine
