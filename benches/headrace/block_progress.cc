#include "benches/headrace/block_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "benches/headrace/console.h"
#include "benches/headrace/terminal.h"
#include "harness/base/units.h"
#include "harness/record/recorder.h"

namespace headrace::cli {
namespace {

using comparison::Blocks;
using comparison::Turn;

/// What is being measured, and how long the rest will take: one live line, or one line a turn.
class BlockProgress final : public session::TurnObserver {
 public:
  explicit BlockProgress(const Shared& shared)
      : terminal_(stderr, shared),
        json_(shared.progress == "json"),
        silent_(shared.progress == "none" || shared.verbosity < 0),
        live_(shared.progress == "auto" && terminal_.interactive()) {}
  ~BlockProgress() override { clear(); }

  void started(const Blocks& blocks, const Turn& turn) override {
    begun_ns_ = now_ns();
    left_ = 0;
    for (unsigned block = turn.block; block <= blocks.planned; ++block)
      for (const Turn& later : comparison::turns_of_block(block))
        if (block > turn.block || later.number >= turn.number) left_ += mean_s(later.side);
    head_ = fmt::format("block {}/{}  turn {}/{}  {}", turn.block, blocks.planned, turn.number,
                        comparison::kTurnsPerBlock, blocks.sides[turn.side].label);
    if (json_)
      write({{"event", "turn_started"},
             {"block", turn.block},
             {"turn", turn.number},
             {"side", blocks.sides[turn.side].label}});
    else
      show("");
  }

  void progress(std::string_view text) override {
    const auto event = nlohmann::json::parse(text, nullptr, false);
    if (json_ || !event.is_object() || !event.contains("event")) {
      say(text);
      return;
    }
    try {
      write_event(event);
    } catch (const nlohmann::json::exception&) {  // another version's: not for this line
    }
  }

  void done(const Blocks& blocks, const Turn& turn) override {
    const double took = static_cast<double>(now_ns() - begun_ns_) * 1e-9;
    took_s_[turn.side] += took;
    ++turns_[turn.side];
    if (json_)
      write({{"event", "turn_done"},
             {"block", turn.block},
             {"turn", turn.number},
             {"side", blocks.sides[turn.side].label},
             {"exit_code", turn.exit_code},
             {"elapsed_s", took}});
    else if (!live_ && !silent_)
      say(Text::format("{}  {}  {}", head_, format_duration(took), eta(took)));
  }

  void message(const std::string& text) override { say(text); }

  void complaint(const std::string& lines) override {
    clear();
    cli::print_stderr(Text::lines(lines));
  }

 private:
  void say(const Text& text) {
    clear();
    print_stderr_line(text);
  }
  double mean_s(std::size_t side) const {
    const unsigned both = turns_[0] + turns_[1];
    if (turns_[side] > 0) return took_s_[side] / turns_[side];
    return both > 0 ? (took_s_[0] + took_s_[1]) / both : 0;
  }
  std::string eta(double since_s) const {
    return left_ > 0 ? "ETA " + format_duration(std::max(left_ - since_s, 0.0)) : "ETA ?";
  }
  void write_event(const nlohmann::json& event) {
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
    cli::print_stderr(cut(text, static_cast<std::size_t>(terminal_.width() - 1)));
    dirty_ = true;
  }
  void clear() {
    if (dirty_) cli::print_stderr("\r\033[K");
    dirty_ = false;
  }
  void write(const nlohmann::json& object) { print_json_line(object.dump()); }

  Terminal terminal_;
  bool json_, silent_, live_, dirty_ = false;
  std::string head_, point_;
  std::uint64_t begun_ns_ = 0;
  double left_ = 0, took_s_[2] = {0, 0};
  unsigned turns_[2] = {0, 0};
};

}  // namespace

std::unique_ptr<session::TurnObserver> make_block_progress(const Shared& shared) {
  return std::make_unique<BlockProgress>(shared);
}

}  // namespace headrace::cli
