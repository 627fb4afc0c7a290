#include "benches/headrace/interleave.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "benches/headrace/compare_text.h"
#include "benches/headrace/console.h"
#include "benches/headrace/report_maker.h"
#include "benches/headrace/terminal.h"
#include "benches/headrace/turn.h"
#include "harness/comparison/output.h"
#include "harness/error.h"
#include "harness/recorder.h"
#include "harness/units.h"
#include "harness/usage_errors.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;
using comparison::Blocks;
using comparison::Turn;

constexpr int kOpen = 11;  // a gate is inconclusive

/// What is being measured, and how long the rest will take: one live line, or one line a turn.
class BlockProgress {
 public:
  BlockProgress(const Blocks& blocks, const Shared& shared)
      : blocks_(blocks),
        terminal_(stderr, shared),
        json_(shared.progress == "json"),
        silent_(shared.progress == "none" || shared.verbosity < 0),
        live_(shared.progress == "auto" && terminal_.interactive()) {}
  ~BlockProgress() { clear(); }

  void started(const Turn& turn) {
    begun_ns_ = now_ns();
    left_ = 0;
    for (unsigned block = turn.block; block <= blocks_.planned; ++block)
      for (const Turn& later : comparison::turns_of_block(block))
        if (block > turn.block || later.number >= turn.number) left_ += mean_s(later.side);
    head_ = fmt::format("block {}/{}  turn {}/{}  {}", turn.block, blocks_.planned, turn.number,
                        comparison::kTurnsPerBlock, blocks_.sides[turn.side].label);
    if (json_)
      write({{"event", "turn_started"},
             {"block", turn.block},
             {"turn", turn.number},
             {"side", blocks_.sides[turn.side].label}});
    else
      show("");
  }

  void line(std::string_view text) {
    const auto event = nlohmann::json::parse(text, nullptr, false);
    if (json_ || !event.is_object() || !event.contains("event")) {
      say(text);
      return;
    }
    try {
      tell(event);
    } catch (const nlohmann::json::exception&) {  // another version's: not for this line
    }
  }

  void done(const Turn& turn) {
    const double took = static_cast<double>(now_ns() - begun_ns_) * 1e-9;
    took_s_[turn.side] += took;
    ++turns_[turn.side];
    if (json_)
      write({{"event", "turn_done"},
             {"block", turn.block},
             {"turn", turn.number},
             {"side", blocks_.sides[turn.side].label},
             {"exit_code", turn.exit_code},
             {"elapsed_s", took}});
    else if (!live_ && !silent_)
      say(Text::format("{}  {}  {}", head_, format_duration(took), eta(took)));
  }

  void say(const Text& text) {
    clear();
    tell_line(text);
  }

 private:
  double mean_s(std::size_t side) const {
    const unsigned both = turns_[0] + turns_[1];
    if (turns_[side] > 0) return took_s_[side] / turns_[side];
    return both > 0 ? (took_s_[0] + took_s_[1]) / both : 0;
  }
  std::string eta(double since_s) const {
    return left_ > 0 ? "ETA " + format_duration(std::max(left_ - since_s, 0.0)) : "ETA ?";
  }
  void tell(const nlohmann::json& event) {
    const std::string what = event.at("event");
    if (what == "point_started")
      point_ = fmt::format("[{}/{}] {}", event.at("number").get<int>(), event.at("total").get<int>(),
                           event.at("point").get<std::string>());
    if (what == "live" && event.at("bytes_per_s").get<double>() > 0)
      show(point_ + "  " + format_quantity(event.at("bytes_per_s").get<double>(), Dimension::bytes_per_second));
    else if (what == "repetition_done" && !event.at("error").get<std::string>().empty())
      say("  ! " + Text(event.at("error").get<std::string>()));
    else
      show(point_);
  }
  void show(const std::string& detail) {
    if (!live_ || silent_) return;
    const Text text = Text::format("{}  {}  {}", head_, detail, eta(static_cast<double>(now_ns() - begun_ns_) * 1e-9));
    clear();
    cli::tell(cut(text, static_cast<std::size_t>(terminal_.width() - 1)));
    dirty_ = true;
  }
  void clear() {
    if (dirty_) cli::tell("\r\033[K");
    dirty_ = false;
  }
  void write(const nlohmann::json& object) { tell_document_line(object.dump()); }

  const Blocks& blocks_;
  Terminal terminal_;
  bool json_, silent_, live_, dirty_ = false;
  std::string head_, point_;
  std::uint64_t begun_ns_ = 0;
  double left_ = 0, took_s_[2] = {0, 0};
  unsigned turns_[2] = {0, 0};
};

/// Did the turn leave a whole run? Throws when it cannot have, for every further turn would fail,
/// too.
bool left_a_run(const Turn& turn, const std::string& path, const std::string& told) {
  if (turn.exit_code == 128 + SIGINT || turn.exit_code == 128 + SIGTERM) return false;
  const std::string what = fmt::format("turn {} of block {} ({})", turn.number, turn.block, path);
  if (turn.exit_code == 2) throw UsageErrors(printable(what) + " was refused:\n" + told);
  if (!fs::is_regular_file(fs::path(path) / "run.json")) {
    tell(Text::lines(told));
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

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &utc);
  return text;
}

}  // namespace

Interleaved interleave(Blocks blocks, const MarkedFolder& folder, const comparison::Options& options, bool stop_early,
                       const Shared& shared) {
  Interleaved result;
  const TurnSignals signals;
  BlockProgress progress(blocks, shared);
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
      progress.started(turn);
      std::string told;
      turn.exit_code = run_turn(command, [&](std::string_view line) {
        if (!line.starts_with('{'))
          told += std::string(line) + '\n';
        else
          progress.line(line);
      });
      if (!left_a_run(turn, path, told) || signals.first() != 0) break;
      blocks.turns.push_back(turn);
      progress.done(turn);
      save();
    }
    const bool look = stop_early && block == statistics::kFirstLook && block < blocks.planned;
    if (!look || signals.first() != 0) continue;
    if (compare_blocks(blocks, folder.path(), options).exit_code != kOpen) {
      progress.say(Text::format("every gate is decided after {} blocks", block));
      break;
    }
    progress.say(fmt::format("not decided after {} blocks: going on to {}", block, blocks.planned));
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
  std::string name = blocks.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '-';
  return MarkedFolder::make_next(
      (fs::path("headrace-runs") / fmt::format("{}-{}-{}", now_text(), name, suffix)).string(),
      comparison::kBlocksKind);
}

int finish_blocks(Interleaved& result, const MarkedFolder& folder, Told told, bool report, const Shared& shared) {
  std::string files = "blocks.json";
  if (result.comparison) {
    result.comparison->command = shared.command;
    comparison::write_comparison(*result.comparison, folder);
    files += ", comparison.json, comparison.csv, junit.xml";
    if (report) {
      const Drawn drawn = draw_into(folder, "comparison.json");
      if (drawn.page.empty())
        tell_line(Text::format("report: not drawn: {}", drawn.reason));
      else
        files = "report.html, " + files;
    }
    if (told == Told::json) print_document(comparison_json(*result.comparison));
    if (told == Told::text) print(comparison_text(*result.comparison, Terminal(stdout, shared), false));
  }
  const int code = result.signal != 0 ? 128 + result.signal : result.comparison->exit_code;
  if (told == Told::json || told == Told::none) return code;
  print_line("files   " + wrap(Text::format("{}: {}", folder.path(), files), 96, 8));
  if (result.signal != 0)
    print_line(Text::format("next    the same command with --out {} goes on after block {}", folder.path(),
                            result.blocks.finished()));
  if (told == Told::files) return code;
  if (result.signal != 0)
    print_line(Text::format("VERDICT INTERRUPTED blocks={} exit={}", result.blocks.finished(), code));
  else
    print_line(comparison_last_line(*result.comparison));
  return code;
}

}  // namespace headrace::cli
