#include "harness/analysis/comparison/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/file_text.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/version.h"
#include "harness/results/json_place.h"
#include "harness/results/json_text.h"
#include "harness/results/pair_metrics.h"
#include "harness/results/result_store.h"
#include "harness/results/stored_verdict.h"

namespace headrace::comparison {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using results::JsonPlace;

constexpr std::string_view kDocumentKind = "headrace.blocks";

/// Every run that a block of these labels may have.
CleanReport remove_turns(const std::vector<BlockSide>& sides, const files::Folder& folder, unsigned block) {
  CleanReport all;
  const files::Folder inner = folder.inner(block_folder(block));
  if (!inner) return all;  // not there, or no folder of headrace's: the whole's removal reports
  for (const Turn& turn : turns_of_block(block)) {
    const std::string name = turn.name(sides);
    if (!inner.look(name)) continue;
    CleanReport one = remove_marked(inner, name);
    for (std::string& left : one.left)
      if (!left.starts_with('/')) left = inner.path_of(name) + "/" + left;
    all.add(one);
  }
  folder.remove_folder(block_folder(block));  // not empty: reported above, or not headrace's
  return all;
}

}  // namespace

std::string block_folder(unsigned block) { return fmt::format("block-{:02}", block); }

std::string Turn::name(const std::vector<BlockSide>& sides) const {
  return fmt::format("{}-{}", number, sides.at(side).label);
}

std::string Turn::folder(const std::vector<BlockSide>& sides) const { return block_folder(block) + "/" + name(sides); }

std::vector<Turn> turns_of_block(unsigned block) {
  const std::size_t outer = block % 2 == 1 ? 0 : 1;
  std::vector<Turn> turns;
  for (unsigned i = 0; i < kTurnsPerBlock; ++i)
    turns.push_back({block, i + 1, i == 0 || i == kTurnsPerBlock - 1 ? outer : 1 - outer, 0});
  return turns;
}

unsigned Blocks::finished() const {
  std::map<unsigned, unsigned> done;
  for (const Turn& turn : turns) ++done[turn.block];
  return static_cast<unsigned>(
      std::count_if(done.begin(), done.end(), [](const auto& block) { return block.second == kTurnsPerBlock; }));
}

std::string blocks_json(const Blocks& blocks) {
  Json json{{"schema", results::kSchema},
            {"kind", kDocumentKind},
            {"headrace", {{"version", kVersion}, {"revision", kRevision}, {"compiler", kCompiler}}},
            {"name", blocks.name},
            {"planned", blocks.planned},
            {"looks", {statistics::kFirstLook, statistics::kLastLook}},
            {"sides", Json::array()},
            {"declared", blocks.declared},
            {"across", blocks.across},
            {"gates", blocks.gates},
            {"turns", Json::array()}};
  for (const BlockSide& side : blocks.sides)
    json["sides"].push_back({{"label", side.label}, {"what", side.what}, {"command", side.command}});
  for (const Turn& turn : blocks.turns)
    json["turns"].push_back({{"block", turn.block},
                             {"turn", turn.number},
                             {"side", blocks.sides.at(turn.side).label},
                             {"folder", turn.folder(blocks.sides)},
                             {"exit_code", turn.exit_code}});
  return results::json_text(json);
}

bool holds_blocks(const std::string& folder) { return fs::is_regular_file(fs::path(folder) / kBlocksFile); }

Blocks read_blocks(const std::string& folder) {
  const std::string path = (fs::path(folder) / kBlocksFile).string();
  const std::string text = file_text(path);
  try {
    const nlohmann::json document = results::parse_kind(text, kDocumentKind);
    const JsonPlace root(document);
    Blocks blocks;
    blocks.name = root.at("name").text();
    blocks.planned = static_cast<unsigned>(root.at("planned").whole());
    root.at("sides").each([&](const JsonPlace& side) {
      const std::string label = side.at("label").text();
      // It is part of a path.
      if (label.size() != 1 || label[0] < 'A' || label[0] > 'Z')
        side.at("label").refuse("a letter from A to Z is expected");
      blocks.sides.push_back({label, side.text("what", ""), side.at("command").texts()});
    });
    if (blocks.sides.size() != 2) root.at("sides").refuse("two sides are expected");
    if (root.has("declared")) blocks.declared = root.at("declared").texts();
    if (root.has("across")) blocks.across = root.at("across").texts();
    if (root.has("gates")) blocks.gates = root.at("gates").texts();
    root.at("turns").each([&](const JsonPlace& one) {
      const auto block = one.at("block").whole(), number = one.at("turn").whole();
      if (block == 0 || block > 9999) one.at("block").refuse("from 1 to 9999 is expected");
      if (number == 0 || number > kTurnsPerBlock) one.at("turn").refuse("from 1 to 4 is expected");
      Turn turn = turns_of_block(static_cast<unsigned>(block))[number - 1];
      turn.exit_code = static_cast<int>(one.at("exit_code").whole());
      // A run's path follows from its turn, and is not read from the file.
      if (one.at("side").text() != blocks.sides[turn.side].label) one.at("side").refuse("not whose turn it is");
      blocks.turns.push_back(turn);
    });
    return blocks;
  } catch (const UsageError& e) {
    throw UsageError(path + ": " + e.what());
  }
}

std::vector<Side> sides_of(const Blocks& blocks, const std::string& folder) {
  std::map<unsigned, unsigned> done;
  for (const Turn& turn : blocks.turns) ++done[turn.block];
  std::vector<Side> sides;
  for (const BlockSide& side : blocks.sides) sides.push_back({side.label, side.what, {}, {}});
  for (const Turn& turn : blocks.turns) {
    if (done[turn.block] != kTurnsPerBlock) continue;
    const std::string path = (fs::path(folder) / turn.folder(blocks.sides)).string();
    sides[turn.side].runs.push_back(results::read_run_file(path));
    results::add_pair_metrics(sides[turn.side].runs.back());
    sides[turn.side].blocks.push_back(turn.block);
  }
  if (sides.front().runs.empty()) throw UsageError(fmt::format("{}: no block is finished", folder));
  return sides;
}

void remove_block(const Blocks& blocks, const MarkedFolder& folder, unsigned block) {
  remove_turns(blocks.sides, folder.folder(), block);
}

CleanReport remove_blocks(const MarkedFolder& folder) {
  CleanReport all;
  if (!folder.try_hold()) {
    all.left.push_back(folder.path() + ": " + folder.in_use());
    return all;
  }
  std::vector<BlockSide> sides{{"A", "", {}}, {"B", "", {}}};
  try {
    if (holds_blocks(folder.path())) sides = read_blocks(folder.path()).sides;
  } catch (const UsageError&) {  // no list is needed: the runs describe themselves
  }
  for (const std::string& name : folder.folder().entries()) {
    unsigned block = 0;
    if (std::sscanf(name.c_str(), "block-%u", &block) == 1 && name == block_folder(block))
      all.add(remove_turns(sides, folder.folder(), block));
  }
  const CleanReport rest = folder.remove();
  all.add(rest);
  all.gone = rest.gone;
  return all;
}

}  // namespace headrace::comparison
