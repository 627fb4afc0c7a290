// Interleaved blocks: their order, their runs' places, and the record of all (blocks.json,
// docs/reference/comparison-json.md).
#pragma once

#include <string>
#include <vector>

#include "harness/analysis/comparison/comparison.h"
#include "harness/base/files/marked_folder.h"

namespace headrace::comparison {

inline constexpr std::string_view kBlocksFile = "blocks.json";
/// The kind of the mark in a folder of blocks.
inline constexpr const char* kBlocksKind = "blocks";

struct BlockSide {
  std::string label;                 // "A"
  std::string what;                  // "a.yaml", a folder, a binary
  std::vector<std::string> command;  // that measures a turn, without its --out

  bool operator==(const BlockSide&) const = default;
};

/// One run of one side.
struct Turn {
  unsigned block = 0, number = 0;  // from 1
  std::size_t side = 0;
  int exit_code = 0;

  std::string name(const std::vector<BlockSide>& sides) const;    // "1-A"
  std::string folder(const std::vector<BlockSide>& sides) const;  // "block-01/1-A"
};

std::string block_folder(unsigned block);  // "block-01"

inline constexpr unsigned kTurnsPerBlock = 4;
/// The turns of one block: A B B A, in every second block B A A B. So neither a drift nor the place within a block
/// favours a side.
std::vector<Turn> turns_of_block(unsigned block);

/// The content of a folder of blocks.
struct Blocks {
  std::string name;
  unsigned planned = 0;
  std::vector<BlockSide> sides;
  std::vector<std::string> declared, across, gates;  // as in Options
  std::vector<Turn> turns;                           // finished, in order

  /// Blocks of which every turn is finished.
  unsigned finished() const;
};

std::string blocks_json(const Blocks& blocks);
/// Reads it from `folder`. Throws UsageError.
Blocks read_blocks(const std::string& folder);
/// Does this folder hold interleaved blocks?
bool holds_blocks(const std::string& folder);

/// The runs of all finished blocks, side by side. Throws UsageError when one cannot be read.
std::vector<Side> sides_of(const Blocks& blocks, const std::string& folder);

/// Removes the run folders of one block, finished or not.
void remove_block(const Blocks& blocks, const MarkedFolder& folder, unsigned block);
/// Removes a whole folder of blocks; files that are not headrace's stay and are named.
CleanReport remove_blocks(const MarkedFolder& folder);

}  // namespace headrace::comparison
