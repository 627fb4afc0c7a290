// What interleaved blocks end with: their files, their page, and the comparison in words.
#pragma once

#include "benches/headrace/session/interleave.h"
#include "benches/headrace/verb.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::cli {

/// What standard output gets: the comparison in words or as JSON, only where the files are, or
/// nothing.
enum class OutputForm { text, json, files, none };

/// Writes the comparison's files into `folder`, draws the page, reports the comparison and how to go
/// on. Returns the exit code.
int finish_blocks(session::Interleaved& result, const MarkedFolder& folder, OutputForm reported, bool report,
                  const Shared& shared);

}  // namespace headrace::cli
