#include "harness/comparison/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/comparison/output.h"
#include "harness/results/json_place.h"
#include "harness/results/json_text.h"
#include "harness/results/result_store.h"
#include "harness/results/stored_verdict.h"
#include "harness/version.h"

namespace headrace::comparison {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using results::JsonPlace;

constexpr std::string_view kKind = "headrace.blocks";

std::string block_folder(unsigned block) { return fmt::format("block-{:02}", block); }

void add(const CleanReport& more, CleanReport& all) {
  all.files += more.files;
  all.bytes += more.bytes;
  all.left.insert(all.left.end(), more.left.begin(), more.left.end());
}

/// Every folder of runs that a block may have.
CleanReport remove_turns(const std::vector<BlockSide>& sides, const std::string& folder,
                         unsigned block) {
  CleanReport all;
  for (const Turn& turn : turns_of_block(block)) {
    const std::string path = (fs::path(folder) / turn.folder(sides)).string();
    if (fs::symlink_status(path).type() != fs::file_type::not_found)
      add(remove_marked(path, results::run_file_names()), all);
  }
  std::error_code left;  // not empty: told above, or not headrace's
  fs::remove(fs::path(folder) / block_folder(block), left);
  return all;
}

}  // namespace

std::string Turn::folder(const std::vector<BlockSide>& sides) const {
  return fmt::format("{}/{}-{}", block_folder(block), number, sides.at(side).label);
}

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
  return static_cast<unsigned>(std::count_if(
      done.begin(), done.end(), [](const auto& block) { return block.second == kTurnsPerBlock; }));
}

std::string blocks_json(const Blocks& blocks) {
  Json json{{"schema", results::kSchema},
            {"kind", kKind},
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
    json["sides"].push_back(
        {{"label", side.label}, {"what", side.what}, {"command", side.command}});
  for (const Turn& turn : blocks.turns)
    json["turns"].push_back({{"block", turn.block},
                             {"turn", turn.number},
                             {"side", blocks.sides.at(turn.side).label},
                             {"folder", turn.folder(blocks.sides)},
                             {"exit_code", turn.exit_code}});
  return results::json_text(json);
}

bool holds_blocks(const std::string& folder) {
  return fs::is_regular_file(fs::path(folder) / kBlocksFile);
}

Blocks read_blocks(const std::string& folder) {
  const std::string path = (fs::path(folder) / kBlocksFile).string();
  const std::string text = results::file_text(path);
  try {
    const nlohmann::json document = results::parse_kind(text, kKind);
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
      // Where a run lies follows from its turn: no path is taken from the file.
      if (one.at("side").text() != blocks.sides[turn.side].label)
        one.at("side").refuse("not whose turn it is");
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
    sides[turn.side].blocks.push_back(turn.block);
  }
  if (sides.front().runs.empty()) throw UsageError(fmt::format("{}: no block is finished", folder));
  return sides;
}

void remove_block(const Blocks& blocks, const std::string& folder, unsigned block) {
  remove_turns(blocks.sides, folder, block);
}

CleanReport remove_blocks(const std::string& folder) {
  CleanReport all;
  std::vector<BlockSide> sides{{"A", "", {}}, {"B", "", {}}};
  if (holds_blocks(folder)) sides = read_blocks(folder).sides;
  // Those of an earlier removal that was cut short may be gone.
  std::set<unsigned> blocks;
  for (const auto& entry : fs::directory_iterator(folder)) {
    unsigned block = 0;
    if (std::sscanf(entry.path().filename().c_str(), "block-%u", &block) == 1) blocks.insert(block);
  }
  for (const unsigned block : blocks) add(remove_turns(sides, folder, block), all);
  const CleanReport rest = remove_marked(folder, kFileNames);
  add(rest, all);
  all.gone = rest.gone;
  return all;
}

}  // namespace headrace::comparison
