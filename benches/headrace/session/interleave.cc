#include "benches/headrace/session/interleave.h"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>

#include "benches/headrace/session/run_folder.h"
#include "benches/headrace/session/turn.h"
#include "harness/base/diagnostics.h"
#include "harness/base/error.h"
#include "harness/base/files/marked_folder.h"
#include "harness/base/printable.h"

namespace headrace::session {
namespace {

namespace fs = std::filesystem;
using comparison::Blocks;
using comparison::Turn;

/// Did the turn leave a whole run? Throws when it cannot have, for every further turn would fail,
/// too.
bool left_a_run(const Turn& turn, const std::string& path, const std::string& reported, TurnObserver& observer) {
  if (turn.exit_code == 128 + SIGINT || turn.exit_code == 128 + SIGTERM) return false;
  const std::string what = fmt::format("turn {} of block {} ({})", turn.number, turn.block, path);
  if (turn.exit_code == 2) throw UsageErrors(printable(what) + " was refused:\n" + reported);
  if (!fs::is_regular_file(fs::path(path) / "run.json")) {
    observer.complaint(reported);
    throw RunError(fmt::format("{} ended with {} and left no run", what, turn.exit_code));
  }
  return true;
}

comparison::Comparison compare_blocks(const Blocks& blocks, const std::string& folder,
                                      const comparison::Options& options) {
  auto sides = comparison::sides_of(blocks, folder);
  comparison::Options own = options;
  if (!own.noise) own.noise = comparison::newest_noise(folder, sides.front().first());
  return comparison::compare(std::move(sides), own);
}

}  // namespace

Interleaved interleave(Blocks blocks, const MarkedFolder& folder, const comparison::Options& options, bool stop_early,
                       TurnObserver& observer) {
  Interleaved result;
  const TurnSignals signals;
  const auto save = [&] { folder.write(comparison::kBlocksFile, comparison::blocks_json(blocks)); };
  // What a block that was cut short left is measured anew: its turns belong together in time.
  const unsigned done = blocks.finished();
  std::erase_if(blocks.turns, [&](const Turn& turn) { return turn.block > done; });
  comparison::remove_block(blocks, folder, done + 1);
  save();
  for (unsigned block = done + 1; block <= blocks.planned && signals.first() == 0; ++block) {
    folder.folder().make(comparison::block_folder(block));
    for (Turn turn : comparison::turns_of_block(block)) {
      const std::string path = (fs::path(folder.path()) / turn.folder(blocks.sides)).string();
      std::vector<std::string> command = blocks.sides[turn.side].command;
      command.insert(command.end(), {"--out", path});
      observer.started(blocks, turn);
      std::string reported;
      turn.exit_code = run_turn(command, [&](std::string_view line) {
        if (!line.starts_with('{'))
          reported += std::string(line) + '\n';
        else
          observer.progress(line);
      });
      if (!left_a_run(turn, path, reported, observer) || signals.first() != 0) break;
      blocks.turns.push_back(turn);
      observer.done(blocks, turn);
      save();
    }
    const bool look = stop_early && block == statistics::kFirstLook && block < blocks.planned;
    if (!look || signals.first() != 0) continue;
    if (compare_blocks(blocks, folder.path(), options).word != Outcome::inconclusive) {
      observer.message(fmt::format("every gate is decided after {} blocks", block));
      break;
    }
    observer.message(fmt::format("not decided after {} blocks: going on to {}", block, blocks.planned));
  }
  result.signal = signals.first();
  if (blocks.finished() > 0) result.comparison = compare_blocks(blocks, folder.path(), options);
  result.blocks = std::move(blocks);
  return result;
}

MarkedFolder blocks_folder(const std::string& out, const std::string& suffix, Blocks& blocks) {
  if (!out.empty()) {
    MarkedFolder folder = MarkedFolder::make_alone(out, comparison::kBlocksKind);
    if (!comparison::holds_blocks(out)) return folder;
    const Blocks before = comparison::read_blocks(out);
    if (before.sides != blocks.sides)
      throw UsageError(
          fmt::format("--out: {} holds blocks of other sides; name another folder, or repeat their command", out));
    blocks.turns = before.turns;
    return folder;
  }
  return MarkedFolder::make_next(next_folder(blocks.name + "-" + suffix), comparison::kBlocksKind);
}

}  // namespace headrace::session
