// Two sides measured in interleaved blocks, each turn in a process and a folder of its own.
#pragma once

#include <optional>
#include <string>

#include "benches/headrace/verb.h"
#include "harness/comparison/blocks.h"

namespace headrace::cli {

/// What came of it.
struct Interleaved {
  std::optional<comparison::Comparison> comparison;  // none when no block was finished
  comparison::Blocks blocks;
  int signal = 0;  // that ended it early
};

/// Measures blocks.planned blocks into `folder`, going on after those that
/// blocks.turns has already; blocks.json is written after every turn. With `stop_early` it ends
/// after the first look when every gate is decided. `options` are what the comparison is made with.
/// Throws RunError when a turn leaves no run, UsageError when its command line is refused.
Interleaved interleave(comparison::Blocks blocks, const MarkedFolder& folder, const comparison::Options& options,
                       bool stop_early, const Shared& shared);

/// The folder for new blocks, or one that is gone on with: --out, else
/// headrace-runs/TIME-NAME-SUFFIX. Fills in blocks.turns of a folder that holds finished ones.
/// Nobody else has it meanwhile. Throws UsageError when it holds blocks of other sides.
MarkedFolder blocks_folder(const std::string& out, const std::string& suffix, comparison::Blocks& blocks);

/// What standard output gets: the comparison in words or as JSON, only where the files are, or
/// nothing.
enum class Told { text, json, files, none };

/// Writes the comparison's files into `folder`, draws the page, tells the comparison and how to go
/// on. Returns the exit code.
int finish_blocks(Interleaved& result, const MarkedFolder& folder, Told told, bool report, const Shared& shared);

}  // namespace headrace::cli
